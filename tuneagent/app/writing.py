"""The one place that is given the writing side of the machine: makes transactions, gives them back, looks at them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuneagent import __version__
from tuneagent.app import writer_process
from tuneagent.app.signals import Interruptions
from tuneagent.app.watch import Place, Watch, call_off
from tuneagent.apply import transaction as transactions
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.journal import Journal, JournalError, Store
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.apply.registry import actuators
from tuneagent.apply.standing import LastChange, Look, facts, last_of_each
from tuneagent.apply.transaction import Failed, Key, Wanted, Work, key_of
from tuneagent.apply.undo import Undoing
from tuneagent.machine.source import Source
from tuneagent.machine.state_directory import DEFAULT, Lock, LockHeldError, StateDirectory
from tuneagent.machine.sysroot import now
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.errors import SourceError
from tuneagent.model.transaction import Deadline, State, Transaction, TransactionStatus

if TYPE_CHECKING:
    from tuneagent.apply.guards import Objection

__all__ = ["Failed", "JournalError", "Objection", "Refusal", "Request", "Site", "Why"]
"""For the commands: of what writes they see this module alone."""

BOOT_ID = "/proc/sys/kernel/random/boot_id"
SETTLE_S = 1.0
PATIENCE_S = 5.0
"""For another writer, where a person waits."""
_STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be recorded of an apply, and until when it must be confirmed."""

    command: str
    policies: tuple[str, ...]
    confirm_within_s: float | None
    """None: it stands without being confirmed."""
    provisional: bool = False
    """Whether it stands only until this process ends, unless :meth:`Site.confirm` says otherwise; for a trial."""


class Site:
    """A machine, or a tree of one, and the transactions that were made on it.

    Journals of a tree lie in it, below ``var/lib/tuneagent``, unless ``state`` names a directory of this machine.
    """

    def __init__(self, place: Place, source: Source) -> None:
        self._source = source
        root = "/" if place.tree is None else str(place.tree.absolute())
        self._place = place
        self.machine = Machine(source, WritableRoot(root), Lookup(source))
        self._actuators = actuators(self.machine)
        own = place.state is not None
        path = str(place.state.absolute()) if place.state is not None else DEFAULT
        self.directory = StateDirectory(path, root="/" if own else root)
        self._store = Store(self.directory)
        self.boot_id = _boot_id(source)
        self.watch: Watch | None = None
        """Over the transaction of the last apply; None where that began none."""
        self._watching: dict[int, Watch] = {}
        """Over those that are on trial: whoever drops a watch calls its guardian."""

    @contextmanager
    def alone(self, patience_s: float = PATIENCE_S) -> Iterator[None]:
        """The right to write. LockHeldError where another process has it for longer; OSError."""
        lock = self._lock(time.monotonic() + patience_s)
        with lock:
            yield

    def forbidden(self, planned: Sequence[PlannedChange], *, in_container: bool) -> Objection | None:
        """Why this process may not make these changes, as far as that is known before; in a tree of files it may."""
        if not self.machine.live:
            return None
        from tuneagent.apply import guards
        from tuneagent.observe import identity
        from tuneagent.observe.gaps import Gaps

        changes = [one.change for one in planned]
        who = identity.observe(Gaps(self._source))
        return guards.permission(who, changes, root=os.geteuid() == 0, in_container=in_container)

    def refused(self, planned: Sequence[PlannedChange], *, most: int, with_disk: bool) -> Objection | None:
        """Why these changes are not made, whoever asks."""
        from tuneagent.apply import guards
        from tuneagent.machine import journal_disk

        disk = frozenset[int]()
        if self.machine.live and not with_disk:
            disk = journal_disk.interrupts(self._source, self.directory.path).irqs
        online = self.machine.lookup.online()
        changes = [one.change for one in planned]
        return guards.request(changes, most=most, journal_disk=disk, online=online or None)

    def on_way_in(self, planned: Sequence[PlannedChange]) -> tuple[str, ...]:
        """The interfaces that the operator's ssh session is through and that lose packets for these changes."""
        from tuneagent.apply import guards
        from tuneagent.machine import way_in

        address = way_in.ssh_address(os.environ)
        if address is None:
            return ()
        try:
            names = way_in.interfaces(address)
        except SourceError:  # it is a word of warning only
            return ()
        return guards.on_way_in((one.change for one in planned), self.machine.lookup.nics(), names)

    def all(self) -> tuple[Transaction, ...]:
        """Every transaction as recorded, oldest first."""
        return self._store.all()

    def standing(self) -> tuple[Transaction, ...]:
        """Those of which there may be something to give back, oldest first; of hundreds that were, none is read."""
        return tuple(one for one in self._store.not_undone() if one.stands)

    def closed(self, told: Iterable[TransactionStatus]) -> tuple[int, ...]:
        """The numbers of all transactions but these, in their order."""
        return tuple(sorted(self._store.numbers() - {one.transaction.id for one in told}))

    def recover(self) -> tuple[Transaction, ...]:
        """Undoes, newest first, what was left in the middle or not confirmed in time; closes what a reboot ended."""
        undone = []
        for one in reversed(self.standing()):
            why = self.due(one)
            if why:
                undone.append(self.undo(one.id, why))
            elif not one.damage and one.boot_id != self.boot_id and one.state is State.COMMITTED:
                self._undoing().close_ended(self._store.open(one.id))
        return tuple(undone)

    def due(self, one: Transaction) -> str:
        """Why it is to be undone now; empty where it is not."""
        if one.damage:
            return ""
        if (one.state is State.OPEN or one.on_trial) and not self._writer_runs(one):
            return one.undone_why or "interrupted"
        if one.state is State.COMMITTED and one.half_undone:
            return one.undone_why
        return "not confirmed" if self.overdue(one) else ""

    def overdue(self, one: Transaction) -> bool:
        """Whether its deadline is over and nobody confirmed it."""
        if not (one.awaits_confirmation and one.stands) or one.deadline is None:
            return False
        clock = now()
        if self.machine.live and one.boot_id != self.boot_id:
            return clock.realtime_ns >= one.deadline.at_ns  # the other clock began anew
        return clock.boottime_ns >= one.deadline.at_boottime_ns

    def apply(
        self, plan: Callable[[], Sequence[PlannedChange]], request: Request, interruptions: Interruptions
    ) -> Transaction | None:
        """Makes the plan's changes as one transaction; None where nothing had to be written. Raises Failed."""
        work = Work(
            machine=self.machine,
            actuators=self._actuators,
            begin=lambda: self._begin(request),
            wait=time.sleep,
            settle_s=SETTLE_S if self.machine.live else 0.0,
            facts=facts(self.all(), self.boot_id),
            closing=interruptions.ignore,
        )
        self.watch = None  # that of an earlier one, which may stand, is in _watching and none of this one's business
        try:
            made = transactions.run(work, lambda: [Wanted(one.policy, one.change) for one in plan()])
        except BaseException:
            self._release()
            raise
        self._keep(made)
        with suppress(OSError):  # it is tidying only
            self._store.prune()
        return made

    def known_facts(self, planned: Iterable[PlannedChange]) -> Iterator[str]:
        """What of a plan is not tried, because it was found unchangeable since this boot."""
        known = facts(self.all(), self.boot_id)
        for one in planned:
            reason = known.get(key_of(one.change.kind, one.change.target))
            if reason is not None:
                yield f"{one.change.where}: {reason}"

    def outdated(self, planned: Iterable[PlannedChange]) -> Iterator[str]:
        """Of a plan out of a file, what stands otherwise than the plan says; what cannot be read is told later."""
        for one in planned:
            change, actuator = one.change, self._actuators.get(one.change.kind)
            if change.old is None or actuator is None:
                continue
            with suppress(Refusal):
                place = actuator.locate(change.kind, change.target)
                there = actuator.read(place)
                if not (actuator.same(there, change.old) or actuator.same(there, change.new)):
                    yield f"{place.where}: the plan says {change.old!r}, and {there!r} stands there"

    def undo(self, number: int, why: str) -> Transaction:
        """Gives a transaction back. JournalError where there is none, or its journal is damaged."""
        journal = self._store.open(number)
        undone = self._undoing().undo(journal, why)
        self._let_go(number)
        if undone.deadline is not None:
            call_off(self._place, number, undone.deadline, timer=self.machine.live)
        return undone

    def confirm(self, number: int) -> Transaction:
        """It stands beyond its deadline."""
        journal = self._store.open(number)
        journal.confirm()
        self._let_go(number)
        confirmed = journal.transaction
        if confirmed.deadline is not None:
            call_off(self._place, number, confirmed.deadline, timer=self.machine.live)
        return confirmed

    def load(self, number: int) -> Transaction:
        """One transaction as recorded. JournalError where there is none."""
        return self._store.load(number)

    def by_hand(self, one: Transaction) -> Iterator[str]:
        """The shell lines that give a transaction back, last change first; a remark where there is none."""
        for entry in reversed(one.entries):
            actuator = self._actuators.get(entry.kind)
            if not entry.may_stand or actuator is None:
                continue
            try:
                yield actuator.by_hand(actuator.locate(entry.kind, entry.target), entry.old)
            except Refusal as refusal:
                yield f"# {entry.where}: {refusal.detail}; before it was {entry.old!r}"

    def status(self, *, closed: bool = True) -> tuple[TransactionStatus, ...]:
        """How the transactions stand, oldest first; without ``closed`` those that are not given back whole."""
        every = self._store.all() if closed else self._store.not_undone()
        return Look(self._actuators, self.boot_id).at_each(every, self._is_written)

    def status_of(self, number: int) -> TransactionStatus:
        """How one transaction stands. JournalError where there is none."""
        one = self._store.load(number)
        since: dict[Key, LastChange] = {}
        for later in self._store.not_undone():
            if later.id > number:
                since |= last_of_each(later)
        return Look(self._actuators, self.boot_id).at(one, since, writer_runs=self._is_written(one))

    def _lock(self, until: float) -> Lock:
        while True:
            try:
                return self.directory.lock()
            except LockHeldError:
                if time.monotonic() >= until:
                    raise
            time.sleep(_STEP_S)

    def _begin(self, request: Request) -> Journal:
        seconds = request.confirm_within_s
        until = None if seconds is None else _deadline(seconds)
        journal = self._store.begin(
            boot_id=self.boot_id,
            version=__version__,
            writer=writer_process.this(),
            command=request.command,
            policies=request.policies,
            deadline=until,
            now_ns=now().realtime_ns,
            provisional=request.provisional,
        )
        self.watch = Watch(self._place, journal.id)
        try:
            kept = self.watch.begin(until, every=request.provisional)
        except OSError as error:
            detail = f"no process can be started that undoes it if this one is killed: {error.strerror or error}"
            with suppress(OSError):
                journal.undoing(f"failed: {detail}")
                journal.end()
            raise Refusal(Why.FAILED, detail) from error
        if kept is not None:
            with suppress(OSError):  # it only spares a process that waits for nothing
                journal.kept(kept)
        return journal

    def _keep(self, made: Transaction | None) -> None:
        if made is None or self.watch is None:
            return
        if made.awaits_confirmation and made.deadline is not None:
            self.watch.keep(made.deadline, timer=self.machine.live)
        elif made.on_trial:  # until it is given back or confirmed
            self._watching[made.id] = self.watch
        else:
            self.watch.release()

    def _let_go(self, number: int) -> None:
        watch = self._watching.pop(number, None)
        if watch is not None:
            watch.release()

    def _release(self) -> None:
        if self.watch is not None:
            self.watch.release()

    def _undoing(self) -> Undoing:
        return Undoing(self.machine, self._actuators, time.sleep, self.boot_id)

    def _is_written(self, one: Transaction) -> bool:
        return (one.state is State.OPEN or one.on_trial) and self._writer_runs(one)

    def _writer_runs(self, one: Transaction) -> bool:
        if one.writer is None or (self.machine.live and one.boot_id != self.boot_id):
            return False
        return writer_process.runs(one.writer)


def confirm_default(*, disrupts: bool, ssh: bool, terminal: bool) -> float | None:
    """Seconds within which to confirm where nobody said; None where it need not be confirmed."""
    from tuneagent.apply import guards

    return guards.confirm_default(disrupts=disrupts, ssh=ssh, terminal=terminal)


def _boot_id(source: Source) -> str | None:
    try:
        return source.read(BOOT_ID).text.strip() or None
    except SourceError:
        return None


def _deadline(seconds: float) -> Deadline:
    clock, ns = now(), int(seconds * 1e9)
    return Deadline(clock.realtime_ns + ns, clock.boottime_ns + ns, seconds)

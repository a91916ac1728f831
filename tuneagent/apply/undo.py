"""Giving back: each value that still stands as we wrote it, in reverse order; somebody's later change is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tuneagent.apply.actuator import Actuator, Place, Refusal, Why
from tuneagent.apply.journal import Journal
from tuneagent.apply.machine import Machine
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import Entry, Lasts, Outcome, State, Transaction

RETRIES_S = (0.05, 0.2, 1.0)
"""Waits before another try where the kernel is busy."""
_REBOOT = "ended by a reboot"
Result = tuple[Outcome, str]
T = TypeVar("T")


class Undoing:
    """Undoes transactions. Nothing that goes wrong on the way stops it: the rest is given back, and that is told."""

    def __init__(
        self,
        machine: Machine,
        actuators: Mapping[TunableKind, Actuator],
        wait: Callable[[float], None],
        boot_id: str | None = None,
    ) -> None:
        self._machine = machine
        self._actuators = actuators
        self._wait = wait
        self._boot_id = boot_id
        """None while the transaction's own process undoes it."""

    def undo(self, journal: Journal, why: str) -> Transaction:
        """The transaction afterwards: UNDONE, or with STUCK entries that another rollback tries again."""
        before = journal.transaction
        _noted(lambda: journal.undoing(why))
        self._machine.lookup.forget()
        entries = {entry.index: entry for entry in before.entries}
        for entry in reversed(before.entries):
            # One that was put off may have arrived all the same: a daemon that was too slow to answer did the work.
            if entry.may_stand or (entry.outcome is Outcome.DEFERRED and entry.tried):
                outcome, detail = self._give_back(entry, before)
                entries[entry.index] = replace(entry, outcome=outcome, detail=detail)
                _noted(partial(journal.given_back, entry.index, outcome, detail))
        # Not what the journal has: a full disk keeps it from knowing, and the caller is told what was done.
        after = replace(before, entries=tuple(entries.values()), undone_why=why)
        if any(entry.outcome is Outcome.STUCK for entry in after.entries):
            return after
        _noted(journal.end)
        return replace(after, state=State.UNDONE)

    def close_ended(self, journal: Journal) -> Transaction:
        """Records what a reboot has ended. What is stored in a file or a definition stands on."""
        transaction = journal.transaction
        ended = [
            entry for entry in transaction.entries if entry.may_stand and has_ended(entry, transaction, self._boot_id)
        ]
        for entry in ended:
            _noted(partial(journal.given_back, entry.index, Outcome.ENDED, _REBOOT))
        if ended and not any(entry.may_stand for entry in journal.transaction.entries):
            _noted(journal.end)
        return journal.transaction

    def _give_back(self, entry: Entry, transaction: Transaction) -> Result:
        if has_ended(entry, transaction, self._boot_id):
            return Outcome.ENDED, _REBOOT
        actuator = self._actuators.get(entry.kind)
        if actuator is None:
            return Outcome.STUCK, f"this version cannot change {entry.kind}"
        try:
            place = actuator.locate(entry.kind, entry.target)
            outcome, detail = self._restored(actuator, place, entry)
            if entry.kept and outcome is Outcome.GIVEN_BACK and (not detail or _was_interrupted(entry, transaction)):
                self._put_back(entry)
        except Refusal as refusal:
            ended = refusal.why is Why.GONE
            return (Outcome.ENDED, f"gone: {refusal.detail}") if ended else (Outcome.STUCK, refusal.detail)
        except Exception as error:  # noqa: BLE001 - a fault of ours in one place must not keep the rest from going back
            return Outcome.STUCK, f"a fault of this program: {type(error).__name__}: {error}"
        return outcome, detail

    def _restored(self, actuator: Actuator, place: Place, entry: Entry) -> Result:
        now = actuator.read(place)
        if actuator.same(now, entry.old):
            actuator.settle(place)
            return Outcome.GIVEN_BACK, "the old value stood there already"
        if not actuator.same(now, entry.new) and not actuator.half_done(now, entry.old, entry.new):
            return Outcome.YIELDED, f"changed since, to {now!r}, and left so"
        patiently(self._wait, lambda: actuator.write(place, entry.old))
        back = actuator.read(place)
        if not actuator.same(back, entry.old):
            return Outcome.STUCK, f"{entry.old!r} was written and {back!r} is read"
        return Outcome.GIVEN_BACK, ""

    def _put_back(self, entry: Entry) -> None:
        """What the kernel rewrote by itself; a queue that is not there any more needs nothing."""
        self._machine.lookup.forget()
        for kept in entry.kept:
            actuator = self._actuators[kept.kind]
            try:
                place = actuator.locate(kept.kind, kept.target)
                if not actuator.same(actuator.read(place), kept.value):
                    patiently(self._wait, partial(actuator.write, place, kept.value))
            except Refusal as refusal:
                if refusal.why not in {Why.GONE, Why.FACT}:
                    raise


def has_ended(entry: Entry, transaction: Transaction, boot_id: str | None) -> bool:
    """Whether a reboot has ended it, which leaves nothing to give back."""
    known = transaction.boot_id is not None and boot_id is not None
    return known and transaction.boot_id != boot_id and entry.lasts is not Lasts.STORED


def _was_interrupted(entry: Entry, transaction: Transaction) -> bool:
    """Whether an end in the middle may lie between the value that stands there and what goes with it."""
    return entry.outcome is not Outcome.CHANGED or bool(transaction.undone_why)


def _noted(note: Callable[[], object]) -> None:
    """Writes into the journal. A full disk must not keep the machine from getting back what is its own."""
    with suppress(OSError):
        note()


def patiently(wait: Callable[[float], None], do: Callable[[], T]) -> T:
    """A write or a read, tried again a few times where the kernel says that it is busy."""
    for seconds in RETRIES_S:
        try:
            return do()
        except Refusal as refusal:
            if refusal.why is not Why.LATER:
                raise
            wait(seconds)
    return do()

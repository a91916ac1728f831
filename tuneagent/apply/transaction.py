"""Changes made as one: intents on the disk before the first write, all read back, and all given back when one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tuneagent.apply.actuator import Actuator, Place, Refusal, Seen, Why
from tuneagent.apply.journal import Journal, JournalError
from tuneagent.apply.machine import Machine
from tuneagent.apply.undo import Undoing, patiently
from tuneagent.model.plan import ORDER, Change, Target, TunableKind
from tuneagent.model.transaction import Effect, Entry, Kept, Outcome, Transaction

MOST_PASSES = 4
"""Of planning and writing: interrupts of new queues appear after the first, and what a device does meanwhile."""
RENUMBERS = frozenset({TunableKind.CHANNELS, TunableKind.DOMAIN_INTERFACE_LIVE})
"""After these, other interrupts and queues are in use: everything later is planned anew."""
LOOKS = 10
"""How often an effect is looked for within the time to settle."""
_OUTCOMES = {Why.FACT: Outcome.LEFT_ALONE, Why.GONE: Outcome.GONE, Why.LATER: Outcome.DEFERRED}

Key = tuple[TunableKind, Target]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change, and the policy that asks for it; empty for one out of a plan file."""

    policy: str
    change: Change


@dataclass(frozen=True, slots=True)
class Work:
    """What a transaction works with."""

    machine: Machine
    actuators: Mapping[TunableKind, Actuator]
    begin: Callable[[], Journal]
    """Called once, before the first intent; whoever watches over the transaction is set up in it."""
    wait: Callable[[float], None]
    settle_s: float = 1.0
    """How long the effects may take to show before they are "not yet"."""
    facts: Mapping[Key, str] = field(default_factory=dict)
    """What an earlier transaction of this boot found unchangeable, with its reason: it is not tried again."""
    closing: Callable[[], None] = lambda: None
    """Called before a commit and before an undo: from then on nobody may interrupt."""


class Failed(Exception):  # noqa: N818 - the outcome of a transaction and not an error of the program
    """The transaction did not come about, and what it had written was given back as far as that was possible."""

    def __init__(self, transaction: Transaction | None, reason: str, *, forbidden: bool = False) -> None:
        super().__init__(reason)
        self.transaction = transaction
        self.reason = reason
        self.forbidden = forbidden


def key_of(kind: TunableKind, target: Target) -> Key:
    """A target by what identifies it; names and numbers that are for people do not count."""
    plain = replace(target, start_ticks=None, ifindex=None)
    if plain.bus_address is not None:
        plain = replace(plain, interface=None)
    return kind, replace(plain, irq=None)


def run(work: Work, plan: Callable[[], Sequence[Wanted]]) -> Transaction | None:
    """Plans and writes until a plan has nothing new, verifies, commits; None where there was nothing to write.

    Raises Failed when a change failed, was contradicted by its effect, or the run was interrupted: by then every
    change that was still ours is undone, in reverse order.
    """
    writing = _Writing(work)
    try:
        for _ in range(MOST_PASSES):
            wanted = plan()
            work.machine.lookup.forget()  # a plan is of now: it may know queues that were not there when we last looked
            if not writing.stage(wanted):
                break
        return writing.commit()
    except (Refusal, OSError, JournalError) as error:
        transaction = writing.give_up(_reason(error))
        forbidden = isinstance(error, Refusal) and error.why is Why.FORBIDDEN
        raise Failed(transaction, _reason(error), forbidden=forbidden) from error
    except BaseException as error:  # an interrupt, or a fault of ours that keeps its traceback: the machine comes first
        writing.give_up(_reason(error))
        raise


def _reason(error: BaseException) -> str:
    if isinstance(error, Refusal):
        return f"{error.detail}; {error.remedy}" if error.remedy else error.detail
    if isinstance(error, OSError | JournalError):
        return f"the journal cannot be written: {getattr(error, 'strerror', None) or error}"
    return str(error) or type(error).__name__


def _at_odds(where: str, policy: str, new: str, wanted: Wanted) -> Refusal:
    words = f"{where}: {policy or 'the plan'} sets {new!r}, and {wanted.policy or 'it'} wants {wanted.change.new!r}"
    return Refusal(Why.FAILED, words, "ask for one of them")


@dataclass(frozen=True, slots=True)
class _Planned:
    """A change with its place, the value that stands there, and the entry that announces it."""

    change: Change
    actuator: Actuator
    place: Place
    entry: Entry


class _Writing:
    """One transaction while it is made."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._journal: Journal | None = None
        self._done: dict[Key, str] = {}
        """What was tried, with the value that was tried: another plan of the same is no news."""
        self._written: dict[Key, Entry] = {}
        self._marks: dict[int, tuple[_Planned, Any]] = {}
        self._next = 0

    def stage(self, wanted: Sequence[Wanted]) -> bool:
        """Announces and writes what is new, up to the first that renumbers queues. Whether there was anything new."""
        fresh = [one for one in wanted if self._is_new(one.change)]
        fresh.sort(key=lambda one: ORDER.index(one.change.kind))
        first = next((one.change.kind for one in fresh if one.change.kind in RENUMBERS), None)
        if first is not None:
            fresh = [one for one in fresh if ORDER.index(one.change.kind) <= ORDER.index(first)]
        planned = [one for one in map(self._planned, self._once(fresh)) if one is not None]
        self._intend(planned)
        for one in planned:
            self._write(one)
        if first is not None:
            self._work.machine.lookup.forget()
        return bool(fresh)

    def _once(self, fresh: Iterable[Wanted]) -> Iterator[Wanted]:
        """Each target once; Refusal where two policies want different values of one, before any of it is written."""
        first: dict[Key, Wanted] = {}
        for one in fresh:
            change, other = one.change, first.setdefault(key_of(one.change.kind, one.change.target), one)
            if other is one:
                yield one
            elif not self._is_same(change.kind, other.change.new, change.new):
                raise _at_odds(change.where, other.policy, other.change.new, one)

    def _is_same(self, kind: TunableKind, one: str, other: str) -> bool:
        actuator = self._work.actuators.get(kind)
        return one == other if actuator is None else actuator.same(one, other)

    def commit(self) -> Transaction | None:
        """Looks at the effects and closes the record; Refusal where one is contradicted."""
        if self._journal is None:
            return None
        self._verify(self._journal)
        self._work.closing()
        self._journal.commit()
        return self._journal.transaction

    def give_up(self, why: str) -> Transaction | None:
        """Gives back what was written."""
        self._work.closing()
        if self._journal is None:
            return None
        undoing = Undoing(self._work.machine, self._work.actuators, self._work.wait)
        return undoing.undo(self._journal, f"failed: {why}")

    def _is_new(self, change: Change) -> bool:
        return self._done.get(key_of(change.kind, change.target)) != change.new

    def _planned(self, wanted: Wanted) -> _Planned | None:
        """What is to be written; None where it is so already, or a fact is in the way."""
        change = wanted.change
        key = key_of(change.kind, change.target)
        self._done[key] = change.new
        if key in self._work.facts:
            return None  # on record already: a second apply writes nothing
        actuator = self._work.actuators.get(change.kind)
        if actuator is None:
            raise Refusal(Why.FAILED, f"{change.kind} cannot be changed by this version")
        try:
            return self._looked_up(wanted, actuator)
        except Refusal as refusal:
            self._left(wanted, actuator, refusal)
            return None

    def _looked_up(self, wanted: Wanted, actuator: Actuator) -> _Planned | None:
        change = wanted.change
        place = actuator.locate(change.kind, change.target)
        wrong = actuator.check(place, change.new)
        if wrong:
            raise Refusal(Why.FAILED, f"{place.where}: {wrong}")
        old = actuator.read(place)
        if actuator.same(old, change.new):
            return None
        before = self._written.get(key_of(change.kind, change.target))
        if before is not None and before.policy != wanted.policy and actuator.same(before.old, change.new):
            raise _at_odds(place.where, before.policy, before.new, wanted)
        entry = replace(
            self._entry(wanted, actuator, place, old),
            kept=tuple(self._kept(actuator, place)),
            previous=actuator.previous(place),
        )
        return _Planned(change, actuator, place, entry)

    def _entry(self, wanted: Wanted, actuator: Actuator, place: Place | None, old: str) -> Entry:
        change = wanted.change
        entry = Entry(
            index=self._next,
            policy=wanted.policy,
            kind=change.kind,
            target=place.target if place is not None else change.target,
            where=place.where if place is not None else change.where,
            old=old,
            new=change.new,
            why=change.why,
            lasts=actuator.lasts,
        )
        self._next += 1
        return entry

    def _kept(self, actuator: Actuator, place: Place) -> Iterator[Kept]:
        for kind, target in actuator.rewrites(place):
            other = self._work.actuators[kind]
            try:
                found = other.locate(kind, target)
                yield Kept(kind, found.target, found.where, other.read(found))
            except Refusal:
                continue  # what cannot be read now cannot be put back either

    def _left(self, wanted: Wanted, actuator: Actuator, refusal: Refusal) -> None:
        """Records what is left as it is; raises what is no fact."""
        if refusal.why not in _OUTCOMES:
            raise refusal
        entry = replace(
            self._entry(wanted, actuator, None, ""),
            outcome=_OUTCOMES[refusal.why],
            detail=_reason(refusal),
            tried=False,
        )
        self._record().intend([entry])

    def _record(self) -> Journal:
        if self._journal is None:
            self._journal = self._work.begin()
        return self._journal

    def _intend(self, planned: Sequence[_Planned]) -> None:
        if planned:
            self._record().intend([one.entry for one in planned])

    def _write(self, one: _Planned) -> None:
        journal = self._record()
        mark = one.actuator.mark(one.place)
        try:
            patiently(self._work.wait, partial(one.actuator.write, one.place, one.entry.new))
        except Refusal as refusal:
            self._refused(one, refusal)
            return
        now = self._read_back(one)
        if now is None:
            return
        if not one.actuator.same(now, one.entry.new):
            detail = f"{one.place.where}: {one.entry.new!r} was written and {now!r} is read"
            journal.outcome(one.entry.index, Outcome.FAILED, detail)
            raise Refusal(Why.FAILED, detail)
        journal.outcome(one.entry.index, Outcome.CHANGED)
        self._marks[one.entry.index] = (one, mark)
        self._written[key_of(one.change.kind, one.change.target)] = one.entry

    def _read_back(self, one: _Planned) -> str | None:
        """What stands there after the write; None where it has gone since.

        What cannot be seen is a failure, for only those are looked at again by an undo.
        """
        try:
            return patiently(self._work.wait, partial(one.actuator.read, one.place))
        except Refusal as refusal:
            outcome = Outcome.GONE if refusal.why is Why.GONE else Outcome.FAILED
            self._record().outcome(one.entry.index, outcome, refusal.detail)
            if outcome is Outcome.GONE:
                return None
            raise

    def _refused(self, one: _Planned, refusal: Refusal) -> None:
        journal = self._record()
        if refusal.why is Why.ELSEWHERE:
            journal.outcome(one.entry.index, Outcome.DEFERRED, refusal.detail)
            self._elsewhere(one)
            return
        # An errno does not say that nothing was written: a failed entry is looked at again by the undo.
        journal.outcome(one.entry.index, _OUTCOMES.get(refusal.why, Outcome.FAILED), refusal.detail)
        if refusal.why not in _OUTCOMES:
            raise refusal

    def _elsewhere(self, one: _Planned) -> None:
        """The next best value, announced before it is written; without one the change is deferred, and that is told."""
        others = one.change.elsewhere
        if not others or any(one.actuator.same(one.entry.old, other) for other in others):
            return
        value, *more = others
        change = replace(one.change, new=value, elsewhere=tuple(more))
        entry = replace(one.entry, index=self._next, new=value)
        self._next += 1
        again = _Planned(change, one.actuator, one.place, entry)
        self._intend([again])
        self._write(again)

    def _verify(self, journal: Journal) -> None:
        """Looks until every effect shows or the time to settle is over, then judges."""
        seen: dict[int, Seen] = {}
        for look in range(LOOKS + 1 if self._work.settle_s > 0 else 1):
            open_ = [index for index in self._marks if index not in seen or seen[index].effect is not Effect.VERIFIED]
            if not open_:
                break
            if look:
                self._work.wait(self._work.settle_s / LOOKS)
            seen |= {index: self._seen(index) for index in open_}
        for index, one in seen.items():
            journal.effect(index, one.effect, one.detail)
        wrong = next((index for index, one in seen.items() if one.effect is Effect.CONTRADICTED), None)
        if wrong is not None:
            raise Refusal(Why.FAILED, f"{self._marks[wrong][0].place.where}: {seen[wrong].detail}")

    def _seen(self, index: int) -> Seen:
        one, mark = self._marks[index]
        try:
            return one.actuator.effect(one.place, one.entry.new, mark)
        except Refusal as refusal:
            return Seen(Effect.NOT_YET, refusal.detail)

"""The two states of a trial: as it was, and with the changes, which stand only as long as this process runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tuneagent.app import told, writing
from tuneagent.app.signals import Interruptions
from tuneagent.measure.rounds import RoundError
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import Entry, Outcome, Standing, Transaction
from tuneagent.model.trial import Arm
from tuneagent.report.safe import safe

STORED = TunableKind.DOMAIN_INTERFACE_DRIVER
LIVE = TunableKind.DOMAIN_INTERFACE_LIVE
"""What a stored definition says counts from the next start on: a trial has the running device instead."""
SWITCHED_BACK = "switched back"
_MOST_LINES = 16
_MEDDLED = frozenset({Standing.BACK, Standing.DRIFTED})


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a plan may not go beyond, whoever asks."""

    most_changes: int
    with_disk: bool = False


class Switching:
    """Switches changes on and off. For a process that has the site to itself and is in charge of its signals.

    ``plan`` is asked anew for each pass of a transaction: after a change of queues other interrupts are in use. It is a
    failure that there is nothing to change, unless it ``may_be_so`` already: one value of many is that of before.
    """

    def __init__(
        self,
        site: writing.Site,
        plan: Callable[[], Sequence[PlannedChange]],
        interruptions: Interruptions,
        command: str,
        bounds: Bounds,
        *,
        may_be_so: bool = False,
    ) -> None:
        self._site, self._plan, self._interruptions = site, plan, interruptions
        self._command, self._bounds, self._may_be_so = command, bounds, may_be_so
        self._standing: Transaction | None = None
        """As it was recorded when it was made: what is known of it where its journal is not there any more."""
        self._first = tuple(plan())

    @property
    def planned(self) -> tuple[PlannedChange, ...]:
        """The changes of the first plan, with those that only a winner gets."""
        return self._first

    @property
    def tried(self) -> tuple[PlannedChange, ...]:
        """Those of the first plan that are switched."""
        return _tried(self._first)

    @property
    def standing(self) -> int | None:
        """The transaction that holds the changes now; None while all is as it was."""
        return None if self._standing is None else self._standing.id

    def switch(self, arm: Arm) -> None:
        """RoundError where that state cannot be had. An interrupt is told when it is had, and not on the way."""
        with self._interruptions.held():
            if arm is Arm.A:
                self._off()
            elif self._standing is None:
                self._on()

    def meddled(self) -> str:
        """What of the standing changes is not in force, because somebody else changed it; empty where all is."""
        if self._standing is None:
            return ""
        try:
            told = self._site.status_of(self._standing.id)
        except writing.JournalError as error:
            raise RoundError(str(error)) from error
        wrong = next((one for one in told.entries if one.standing in _MEDDLED), None)
        if wrong is None:
            return ""
        return f"{wrong.where} was changed by somebody else, to {safe(wrong.now or '?')}, while it was tried"

    def restore(self) -> None:
        """All as it was, from any state. RoundError where something could not be given back."""
        self._interruptions.ignore()
        self._off()

    def hold(self) -> None:
        """With the changes, which stand as long as this process runs."""
        self._interruptions.ignore()
        if self._standing is None:
            self._on()

    def keep(self) -> int:
        """The changes stand from now on, also beyond this process. The transaction; RoundError, and all is as it was.

        What a trial had on the running device alone is stored too, so that one transaction holds both.
        """
        self._interruptions.ignore()
        if any(one.change.kind is STORED for one in self._first) and self.tried:
            self._off()
            return self._made(self._all_of_it(), provisional=False).id
        if self._standing is None:
            self._on()
        stands = self._standing
        assert stands is not None  # noqa: S101 - _on() has set it, or raised
        self._site.confirm(stands.id)
        self._standing = None
        return stands.id

    def _on(self) -> None:
        if self._may_be_so:
            so_far = self._apply(self._trial_of_it(), provisional=True)
            if so_far is None:  # nothing was to be written: it is so, or it is known that it cannot be
                self._standing = None
                self._check_known()
                return
            made = so_far
        else:
            made = self._made(self._trial_of_it(), provisional=True)
        self._standing = made
        if not any(entry.outcome is Outcome.CHANGED for entry in made.entries):
            raise RoundError(f"nothing was changed: {_first_detail(made.entries)}")

    def _made(self, plan: Callable[[], Sequence[PlannedChange]], *, provisional: bool) -> Transaction:
        made = self._apply(plan, provisional=provisional)
        if made is None:
            self._check_known()
            raise RoundError("nothing was to be changed: all is so already")
        return made

    def _check_known(self) -> None:
        """RoundError for what was found to be a fact of this machine before, and is not tried again."""
        reason = next(iter(self._site.known_facts(self.tried)), None)
        if reason is not None:
            raise RoundError(f"nothing was changed: {reason}")

    def _apply(self, plan: Callable[[], Sequence[PlannedChange]], *, provisional: bool) -> Transaction | None:
        policies = tuple(dict.fromkeys(one.policy for one in self._first if one.policy))
        request = writing.Request(self._command, policies, None, provisional=provisional)
        try:
            return self._site.apply(plan, request, self._interruptions)
        except writing.Failed as failed:
            more = ""
            if failed.transaction is not None and told.has_stuck([failed.transaction]):
                self._standing = failed.transaction  # a part of it is: nobody may take this for the old state
                more = f"; run tuneagent rollback {failed.transaction.id}"
            raise RoundError(f"the changes could not be made: {failed.reason}{more}") from failed

    def _off(self) -> None:
        if self._standing is None:
            return
        stands = self._standing
        try:
            undone = self._site.undo(stands.id, SWITCHED_BACK)
        except (writing.JournalError, OSError) as error:
            raise RoundError(f"{error}{self._by_hand(stands)}") from error
        self._standing = stands if told.has_stuck([undone]) else None
        wrong = [one for one in undone.entries if one.outcome in {Outcome.STUCK, Outcome.YIELDED}]
        if wrong:
            more = f"; run tuneagent rollback {stands.id}" if told.has_stuck([undone]) else ""
            yielded = wrong[0].outcome is Outcome.YIELDED
            words = "is somebody else's now" if yielded else "was not given back"
            raise RoundError(f"{wrong[0].where} {words}: {wrong[0].detail}{more}")

    def _by_hand(self, stands: Transaction) -> str:
        """The lines that give back what stands, for a person; of very many the first."""
        lines = tuple(self._site.by_hand(stands))
        more = f"; and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
        return f"; by hand, as root: {'; '.join(lines[:_MOST_LINES])}{more}" if lines else ""

    def _trial_of_it(self) -> Callable[[], Sequence[PlannedChange]]:
        return _first_then(self.tried, lambda: _tried(self._checked()))

    def _all_of_it(self) -> Callable[[], Sequence[PlannedChange]]:
        return _first_then(self._first, self._checked)

    def _checked(self) -> Sequence[PlannedChange]:
        planned = self._plan()
        objection = self._site.refused(planned, most=self._bounds.most_changes, with_disk=self._bounds.with_disk)
        if objection is not None:
            raise writing.Refusal(writing.Why.FAILED, objection.detail, objection.remedy)
        return planned


def _tried(planned: Sequence[PlannedChange]) -> tuple[PlannedChange, ...]:
    return tuple(one for one in planned if one.change.kind is not STORED)


def _first_then(
    first: Sequence[PlannedChange], more: Callable[[], Sequence[PlannedChange]]
) -> Callable[[], Sequence[PlannedChange]]:
    """The plan that the guards have seen, and then a new one as often as it is asked for."""
    given: Iterator[Sequence[PlannedChange]] = iter((first,))
    return lambda: next(given, None) or more()


def _first_detail(entries: Sequence[Entry]) -> str:
    return next((f"{one.where}: {one.detail}" for one in entries if one.detail), "no reason was given")

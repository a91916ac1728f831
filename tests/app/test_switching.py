"""Which changes are switched, which only a winner gets, and what is told when a state cannot be had."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import pytest

from tests.apply import make
from tuneagent.app import writing
from tuneagent.app.signals import Interruptions
from tuneagent.app.switching import Bounds, Switching
from tuneagent.measure.rounds import RoundError
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.model.transaction import EntryStatus, Outcome, Standing, State, Transaction, TransactionStatus
from tuneagent.model.trial import Arm

STORED, LIVE = TunableKind.DOMAIN_INTERFACE_DRIVER, TunableKind.DOMAIN_INTERFACE_LIVE


class Machine:
    """A site that does what it is told and remembers it."""

    def __init__(
        self,
        became: Outcome = Outcome.CHANGED,
        back: Outcome = Outcome.GIVEN_BACK,
        failure: str = "",
        *,
        nothing: bool = False,
    ) -> None:
        self.log: list[str] = []
        self.became, self.back, self.failure = became, back, failure
        self.fact, self.nothing = False, nothing
        self.stands = Standing.IN_FORCE

    def apply(
        self, plan: Callable[[], Sequence[PlannedChange]], request: writing.Request, _: Interruptions
    ) -> Transaction | None:
        kinds = [one.change.kind.value for one in plan()]
        if self.failure:
            stuck = make.transaction(id=7, entries=(make.entry(0, outcome=Outcome.STUCK, detail="busy"),))
            raise writing.Failed(stuck if self.became is Outcome.STUCK else None, self.failure)
        if not kinds or self.nothing:
            return None
        self.log.append(f"{'tried' if request.provisional else 'applied'} {' '.join(kinds)}")
        entries = tuple(make.entry(at, outcome=self.became, detail="busy") for at, _ in enumerate(kinds))
        return make.transaction(id=len(self.log), entries=entries, state=State.COMMITTED)

    def undo(self, number: int, why: str) -> Transaction:
        self.log.append(f"undone {number} {why}")
        return make.transaction(id=number, entries=(make.entry(0, outcome=self.back, detail="busy"),))

    def refused(self, planned: Sequence[PlannedChange], *, most: int, with_disk: bool) -> None:
        assert len(planned) <= most
        assert not with_disk

    def known_facts(self, planned: Sequence[PlannedChange]) -> Iterator[str]:
        yield from (f"{one.change.kind}: not supported" for one in planned if self.fact)

    def status_of(self, number: int) -> TransactionStatus:
        entry = make.entry(0, outcome=Outcome.CHANGED)
        one = EntryStatus(entry, self.stands, "7", entry.where, "")
        return TransactionStatus(make.transaction(id=number, entries=(entry,)), (one,), writer_runs=True)

    def confirm(self, number: int) -> None:
        self.log.append(f"confirmed {number}")


def switching(machine: Machine, *kinds: TunableKind, may_be_so: bool = False) -> Switching:
    planned = [PlannedChange("event-index-on", "domain web vnet0", change(kind)) for kind in kinds]
    site = cast("writing.Site", machine)
    return Switching(site, lambda: planned, Interruptions(), "trial", Bounds(10), may_be_so=may_be_so)


def change(kind: TunableKind) -> Change:
    return Change(kind, Target(), "", None, "on", "", "", None)


def test_a_state_is_switched_to_once() -> None:
    machine = Machine()
    one = switching(machine, TunableKind.RPS_CPUS)
    for arm in (Arm.A, Arm.B, Arm.B, Arm.A, Arm.A):
        one.switch(arm)
    assert machine.log == ["tried rps-cpus", "undone 1 switched back"]
    assert one.standing is None


def test_a_winner_that_stands_is_confirmed_and_another_is_switched_on_first() -> None:
    machine = Machine()
    one = switching(machine, TunableKind.RPS_CPUS)
    one.switch(Arm.B)
    assert one.keep() == 1
    one.restore()
    assert machine.log == ["tried rps-cpus", "confirmed 1"]

    again = Machine()
    assert switching(again, TunableKind.RPS_CPUS).keep() == 1
    assert again.log == ["tried rps-cpus", "confirmed 1"]


def test_the_running_device_is_tried_and_the_definition_is_the_winner_s_only() -> None:
    machine = Machine()
    one = switching(machine, STORED, LIVE)
    one.switch(Arm.B)
    assert [each.change.kind for each in one.tried] == [LIVE]
    assert one.keep() == 3
    assert machine.log == [
        "tried domain-interface-live",
        "undone 1 switched back",
        "applied domain-interface-driver domain-interface-live",
    ]


def test_a_definition_alone_is_nothing_to_try() -> None:
    one = switching(Machine(), STORED)
    assert one.planned
    assert one.tried == ()


@pytest.mark.parametrize("became", [Outcome.LEFT_ALONE, Outcome.DEFERRED, Outcome.GONE])
def test_where_nothing_was_changed_there_is_no_such_state(became: Outcome) -> None:
    one = switching(Machine(became), TunableKind.RPS_CPUS)
    with pytest.raises(RoundError, match=r"nothing was changed: .*busy"):
        one.switch(Arm.B)


def test_what_is_so_already_is_no_state_of_a_trial_and_may_be_one_of_a_sweep() -> None:
    with pytest.raises(RoundError, match="all is so already"):
        switching(Machine()).switch(Arm.B)
    one = switching(Machine(), may_be_so=True)
    one.switch(Arm.B)
    assert one.standing is None


@pytest.mark.parametrize(("back", "stands"), [(Outcome.STUCK, True), (Outcome.YIELDED, False)])
def test_what_was_not_given_back_is_a_failure(back: Outcome, *, stands: bool) -> None:
    one = switching(Machine(back=back), TunableKind.RPS_CPUS)
    one.switch(Arm.B)
    said = "was not given back: busy" if stands else "is somebody else's now: busy"
    with pytest.raises(RoundError, match=said):
        one.switch(Arm.A)
    assert (one.standing is not None) is stands


@pytest.mark.parametrize("stands", [Standing.BACK, Standing.DRIFTED])
def test_what_somebody_else_changed_while_it_stood_is_told(stands: Standing) -> None:
    machine = Machine()
    one = switching(machine, TunableKind.RPS_CPUS)
    assert one.meddled() == ""
    one.switch(Arm.B)
    assert one.meddled() == ""
    machine.stands = stands
    assert "was changed by somebody else, to 7, while it was tried" in one.meddled()


def test_a_value_of_a_sweep_that_this_machine_does_not_take_is_a_failure() -> None:
    left = switching(Machine(Outcome.LEFT_ALONE), TunableKind.RINGS, may_be_so=True)
    with pytest.raises(RoundError, match=r"nothing was changed: .*busy"):
        left.switch(Arm.B)


@pytest.mark.parametrize("may_be_so", [True, False])
def test_a_fact_that_is_on_record_is_no_value_that_stands_already(*, may_be_so: bool) -> None:
    machine = Machine(nothing=True)
    machine.fact = True
    with pytest.raises(RoundError, match="nothing was changed: rings: not supported"):
        switching(machine, TunableKind.RINGS, may_be_so=may_be_so).switch(Arm.B)


def test_changes_that_fail_are_a_failure_of_the_trial() -> None:
    machine = Machine(failure="no room")
    with pytest.raises(RoundError, match="the changes could not be made: no room"):
        switching(machine, TunableKind.RPS_CPUS).switch(Arm.B)


@pytest.mark.parametrize(("back", "stands"), [(Outcome.STUCK, True), (Outcome.GIVEN_BACK, False)])
def test_changes_that_failed_and_are_stuck_still_stand_until_they_are_undone(back: Outcome, *, stands: bool) -> None:
    machine = Machine(Outcome.STUCK, back, failure="no room")
    one = switching(machine, TunableKind.RPS_CPUS)
    with pytest.raises(RoundError, match="no room; run tuneagent rollback 7"):
        one.switch(Arm.B)
    assert one.standing == 7
    if stands:
        with pytest.raises(RoundError, match="was not given back: busy; run tuneagent rollback 7"):
            one.restore()
    else:
        one.restore()
    assert (one.standing is not None) is stands

"""The order of rounds, what does not count, and how a trial ends, by hands that note what they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.measure.make import question
from tuneagent.measure.rounds import Hands, Measured, Outcome, Progress, RoundError, conduct
from tuneagent.measure.steal import PARTNER
from tuneagent.model.load import LoadKind, LoadSpec
from tuneagent.model.trial import Arm, Decision, Question, Round, TrialState

Measure = Callable[[int, Arm, float], Measured]


class Machine:
    """Notes what is done to it. ``measure`` is given the number of the round, its arm, and the seconds."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self.arm: Arm | None = None
        self.done: list[str] = []
        self.arms: list[Arm] = []
        self.recorded: list[Round] = []
        self.told: list[Progress] = []
        self.now = 10**18
        self.fail_switch_at = 0
        self.fail_restore: BaseException | None = None

    def switch(self, arm: Arm) -> None:
        self.done.append(f"switch {arm}")
        if len([one for one in self.done if one.startswith("switch")]) == self.fail_switch_at:
            raise RoundError("the interface does not come back")
        self.arm = arm

    def measure(self, seconds: float) -> Measured:
        assert self.arm is not None
        self.arms.append(self.arm)
        self.done.append("measure")
        self.now += int(seconds * 1e9)
        return self._measure(len(self.arms), self.arm, seconds)

    def wait(self, seconds: float) -> None:
        self.done.append(f"wait {seconds:g}")
        self.now += int(seconds * 1e9)

    def restore(self) -> None:
        self.done.append("restore")
        if self.fail_restore:
            error, self.fail_restore = self.fail_restore, None
            raise error

    def hands(self) -> Hands:
        return Hands(
            self.switch,
            self.measure,
            self.wait,
            lambda: self.now,
            self.restore,
            self.recorded.append,
            self.told.append,
        )


def level(number: int, arm: Arm, seconds: float, **changes: Any) -> Measured:
    """B is 20 % above A, with noise that is never the same twice."""
    value = (1200 if arm is Arm.B else 1000) + 7.0 * (number * 37 % 11)
    return replace(Measured(seconds, {"transactions_per_sec": value}), **changes)


def nothing(number: int, arm: Arm, seconds: float) -> Measured:  # noqa: ARG001 - A and B are the same
    """No effect: a large scatter around one level."""
    return Measured(seconds, {"transactions_per_sec": 1000 + 30.0 * (number * 37 % 11)})


def run(measure: Measure, **changes: Any) -> tuple[Machine, Outcome]:
    machine = Machine(measure)
    return machine, conduct(question(**changes), machine.hands())


def firsts(outcome: Outcome) -> list[Arm]:
    return [one.arm for one in outcome.rounds[::2]]


def test_arms_alternate_in_blocks_and_are_switched_only_where_they_change() -> None:
    machine, outcome = run(level)
    a, b = machine.arms[0], machine.arms[1]
    assert machine.arms == [a, b, b, a, a, b, b, a, a, b, b, a]
    assert machine.done[:9] == [
        f"switch {a}", "wait 1", "measure", f"switch {b}", "wait 1", "measure", "wait 1", "measure", f"switch {a}",
    ]  # fmt: skip
    assert outcome.state is TrialState.DONE
    assert [one.pair for one in outcome.rounds] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]


def test_a_coin_says_who_begins_and_the_seed_says_how_it_falls() -> None:
    begun = [run(level, seed=seed)[0].arms[0] for seed in range(20)]
    assert set(begun) == {Arm.A, Arm.B}
    assert begun == [run(level, seed=seed)[0].arms[0] for seed in range(20)]


def test_a_large_effect_ends_at_the_first_look_and_leaves_the_machine_to_the_caller() -> None:
    machine, outcome = run(level)
    assert outcome.verdict is not None
    assert outcome.verdict.decision is Decision.KEEP
    assert outcome.verdict.looks == 1
    assert len(outcome.rounds) == 12
    assert "restore" not in machine.done
    assert outcome.arm is machine.arms[-1]


def test_without_an_effect_it_ends_at_the_most_pairs_at_the_latest() -> None:
    _, outcome = run(nothing)
    assert outcome.verdict is not None
    assert outcome.verdict.decision is Decision.UNDECIDED
    assert 12 <= len(outcome.rounds) <= 24


def test_a_round_has_what_was_measured_and_when() -> None:
    machine, outcome = run(
        lambda number, arm, seconds: level(
            number,
            arm,
            seconds,
            missing={"exits_per_sec": "no debugfs"},
            queue_interrupts={"input.0": {"1": 512.0}},
            exits_by_kind={"halt_exits": 77.0},
            steal_percent=0.5,
        )
    )
    second = outcome.rounds[1]
    assert second.began_ns == 10**18 + (2 * 1 + 5) * 10**9
    assert second.seconds == 5
    assert second.missing == {"exits_per_sec": "no debugfs"}
    assert second.queue_interrupts == {"input.0": {"1": 512.0}}
    assert second.exits_by_kind == {"halt_exits": 77.0}
    assert second.steal_percent == 0.5
    assert tuple(machine.recorded) == outcome.rounds


def test_a_second_round_that_does_not_count_takes_its_partner_with_it() -> None:
    machine, outcome = run(lambda n, arm, s: level(n, arm, s, unused="the server stalled" if n == 4 else ""))
    assert [(one.number, one.unused) for one in outcome.rounds if one.unused] == [
        (3, PARTNER),
        (4, "the server stalled"),
    ]
    pair = {one.pair: [other.arm for other in outcome.rounds if other.pair == one.pair] for one in outcome.rounds}
    assert pair[3] == pair[2], "measured again in the same order"
    assert len(pair) == 7
    assert outcome.verdict is not None
    assert outcome.verdict.primary is not None
    assert outcome.verdict.primary.pairs == 6
    assert [(one.number, one.unused) for one in machine.recorded if one.number == 3] == [(3, ""), (3, PARTNER)]


def test_a_first_round_that_does_not_count_has_no_partner() -> None:
    machine, outcome = run(lambda n, arm, s: level(n, arm, s, unused="the server stalled" if n == 1 else ""))
    assert machine.arms[0] is machine.arms[1]
    assert [one.pair for one in outcome.rounds[:4]] == [1, 2, 2, 3]


def test_a_round_whose_cpu_was_taken_is_measured_again_also_where_that_is_seen_later() -> None:
    _, outcome = run(lambda n, arm, s: level(n, arm, s, steal_percent=30.0 if n == 2 else 1.0 + n / 10))
    lost = {one.number: one.unused for one in outcome.rounds if one.unused}
    assert lost == {1: PARTNER, 2: "the CPU was taken: far more steal than is usual in its arm"}
    assert len(outcome.rounds) == 14
    orders = Counter(arm for arm, one in zip(firsts(outcome), outcome.rounds[::2], strict=True) if not one.unused)
    assert set(orders.values()) == {3}, "both orders equally often"


def test_what_the_change_itself_costs_is_not_left_out_as_a_neighbours_doing() -> None:
    """B takes the CPU from itself in every third round, and is slow there."""

    def measure(number: int, arm: Arm, seconds: float) -> Measured:
        bad = arm is Arm.B and number % 6 in {0, 1}
        found = level(number, arm, seconds, steal_percent=30.0 if bad else 1.0)
        return replace(found, metrics={name: value * (0.3 if bad else 1) for name, value in found.metrics.items()})

    _, outcome = run(measure, pairs_max=20)
    assert outcome.verdict is not None
    assert outcome.verdict.decision is not Decision.KEEP
    assert sum(one.unused not in {"", PARTNER} for one in outcome.rounds) == 2


@pytest.mark.parametrize("seconds", [1.0, 20.0, float("nan")])
def test_a_round_of_another_length_does_not_count(seconds: float) -> None:
    _, outcome = run(lambda n, arm, s: level(n, arm, seconds if n == 2 else s))
    assert outcome.rounds[1].unused == f"it was measured for {seconds:g} s, and 5 s were asked for"


def test_rounds_that_never_count_end_the_trial_and_the_machine_is_put_back() -> None:
    machine, outcome = run(lambda _, __, s: Measured(s, {}, {"transactions_per_sec": "the server is too old"}))
    assert outcome.state is TrialState.FAILED
    assert outcome.why == (
        "18 of 18 rounds did not count: transactions_per_sec could not be measured: the server is too old"
    )
    assert machine.done[-1] == "restore"
    assert outcome.arm is None


def out_of_time(after: int, measure: Measure, **changes: Any) -> tuple[Machine, Outcome]:
    """A trial whose time is over once so many rounds were measured."""
    machine = Machine(measure)
    hands = replace(machine.hands(), in_time=lambda: len(machine.arms) < after)
    return machine, conduct(question(**changes), hands)


def test_when_its_time_is_over_what_counts_is_judged() -> None:
    _, outcome = out_of_time(16, nothing, pairs_max=40)
    assert (outcome.state, len(outcome.rounds)) == (TrialState.DONE, 16)
    assert outcome.verdict is not None
    assert outcome.verdict.decision is Decision.UNDECIDED


def test_when_its_time_is_over_too_early_it_has_failed_and_the_machine_is_put_back() -> None:
    machine, outcome = out_of_time(9, level)
    assert (outcome.state, len(outcome.rounds)) == (TrialState.FAILED, 10)
    assert outcome.why == "its time was over after 5 pairs that count: no verdict"
    assert machine.done[-1] == "restore"


def test_a_program_for_whole_seconds_may_take_some_more() -> None:
    whole = LoadSpec(LoadKind.IPERF3)
    _, outcome = run(lambda n, arm, s: level(n, arm, s + 1.5), round_s=1, load=whole)
    assert not any(one.unused for one in outcome.rounds)


def test_enough_pairs_for_a_verdict_are_not_thrown_away_with_those_that_do_not_count() -> None:
    def measure(number: int, arm: Arm, seconds: float) -> Measured:
        return replace(nothing(number, arm, seconds), unused="the server stalled" if number > 14 else "")

    _, outcome = run(measure, threshold_percent=0, pairs_max=40)
    assert outcome.state is TrialState.DONE
    assert outcome.verdict is not None
    assert outcome.verdict.primary is not None
    assert outcome.verdict.primary.pairs == 7
    assert outcome.verdict.notes == ("53 rounds do not count (53 of A, 0 of B): the server stalled",)


@pytest.mark.parametrize("error", [RoundError("the server died"), OSError(5, "Input/output error")])
def test_a_measurement_that_fails_ends_the_trial_as_failed(error: Exception) -> None:
    def measure(number: int, arm: Arm, seconds: float) -> Measured:
        if number == 5:
            raise error
        return level(number, arm, seconds)

    machine, outcome = run(measure)
    assert outcome.state is TrialState.FAILED
    assert outcome.why == str(error)
    assert len(outcome.rounds) == len(machine.recorded) == 4
    assert machine.done[-1] == "restore"
    assert outcome.verdict is None


def test_a_switch_that_fails_ends_the_trial_as_failed() -> None:
    machine = Machine(level)
    machine.fail_switch_at = 2
    outcome = conduct(question(), machine.hands())
    assert (outcome.state, outcome.why, outcome.arm) == (TrialState.FAILED, "the interface does not come back", None)
    assert machine.done[-1] == "restore"


def test_a_machine_that_cannot_be_put_back_is_told() -> None:
    machine = Machine(level)
    machine.fail_switch_at, machine.fail_restore = 2, RoundError("it is gone")
    outcome = conduct(question(), machine.hands())
    assert outcome.why == "the interface does not come back; and the machine could not be put back: it is gone"
    assert outcome.arm is not machine.arms[0], "it may be in the state that it was being switched to"


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_an_interrupt_is_raised_on_once_the_machine_is_put_back(interrupt: type[BaseException]) -> None:
    def measure(number: int, arm: Arm, seconds: float) -> Measured:
        if number == 3:
            raise interrupt
        return level(number, arm, seconds)

    machine = Machine(measure)
    with pytest.raises(interrupt):
        conduct(question(), machine.hands())
    assert machine.done[-1] == "restore"
    assert len(machine.recorded) == 2


def test_an_interrupt_is_not_lost_where_the_machine_cannot_be_put_back() -> None:
    def measure(*_: object) -> Measured:
        raise KeyboardInterrupt

    machine = Machine(measure)
    machine.fail_restore = RoundError("it is gone")
    with pytest.raises(KeyboardInterrupt) as caught:
        conduct(question(), machine.hands())
    assert caught.value.__notes__ == ["and the machine could not be put back: it is gone"]


def test_an_interrupt_while_the_machine_is_put_back_does_not_leave_it_half_done() -> None:
    machine = Machine(level)
    machine.fail_switch_at, machine.fail_restore = 2, KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        conduct(question(), machine.hands())
    assert machine.done[-2:] == ["restore", "restore"]


def test_progress_tells_the_time_that_is_left_at_most() -> None:
    machine, _ = run(level)
    first, third = machine.told[0], machine.told[2]
    assert first.seconds_left_at_most == 24 * 6
    assert first.effect is None
    assert (third.round_number, third.pairs, third.pairs_max, third.seconds_left_at_most) == (3, 1, 12, 22 * 6)
    assert third.effect is not None
    assert third.effect.pairs == 1


def test_progress_learns_what_a_round_costs_and_does_not_believe_a_clock_that_was_set() -> None:
    machine = Machine(level)

    def boot(arm: Arm) -> None:
        machine.switch(arm)
        machine.wait(60)

    conduct(question(cold=True, pairs_min=4), replace(machine.hands(), switch=boot))
    assert machine.told[4].seconds_left_at_most == 20 * 66

    set_back = Machine(level)
    clock = iter(range(10**18, 0, -(10**15)))
    conduct(question(), replace(set_back.hands(), now_ns=lambda: next(clock)))
    assert set_back.told[4].seconds_left_at_most == 20 * 6

    set_on = Machine(level)
    forward = iter(range(0, 10**18, 10**15))
    conduct(question(), replace(set_on.hands(), now_ns=lambda: next(forward)))
    assert set_on.told[4].seconds_left_at_most == 20 * (6 + 3600)


def test_each_cold_round_is_a_boot_and_each_pair_has_its_own_coin() -> None:
    orders = set()
    for seed in range(6):
        machine, outcome = run(level, cold=True, pairs_min=4, pairs_max=8, seed=seed)
        assert machine.done[:6] == [
            f"switch {machine.arms[0]}", "wait 1", "measure", f"switch {machine.arms[1]}", "wait 1", "measure",
        ]  # fmt: skip
        assert all(
            {one.arm for one in outcome.rounds if one.pair == pair} == set(Arm)
            for pair in {one.pair for one in outcome.rounds}
        )
        orders.add(tuple(firsts(outcome)[:4]))
    assert len(orders) > 3


def test_four_boots_of_each_are_the_least() -> None:
    _, outcome = run(level, cold=True, pairs_min=1, pairs_max=4)
    assert outcome.verdict is not None
    assert outcome.verdict.decision is Decision.KEEP
    assert len(outcome.rounds) == 8


@pytest.mark.parametrize("changes", [{"pairs_max": 0}, {"round_s": 0}, {"settle_s": -1}])
def test_a_trial_without_rounds_is_not_begun(changes: dict[str, float]) -> None:
    machine = Machine(level)
    asked: Question = replace(question(), **changes)  # type: ignore[arg-type]  # one of three numbers
    with pytest.raises(ValueError, match="at least one pair"):
        conduct(asked, machine.hands())
    assert machine.done == []

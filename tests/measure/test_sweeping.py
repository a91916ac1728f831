from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from tuneagent.measure.rounds import Measured, RoundError
from tuneagent.measure.sweeping import Plan, Step, SweepHands, conduct, curve, knee, orders
from tuneagent.model.trial import Better

METRIC = "transactions_per_sec"
PLAN = Plan(("1", "2", "4", "8"), METRIC, Better.UP, 12, 2.0, 0.5, 42)


def blocks(plan: Plan, truth: dict[str, float], noise: float = 0.01, seed: int = 1) -> list[dict[str, Measured]]:
    """Blocks that drift by half from the first to the last, the same for all values of a block."""
    chance = random.Random(seed)  # noqa: S311 - noise, and no secret
    return [
        {
            value: Measured(2.0, {METRIC: truth[value] * (1 + at / plan.blocks) * math.exp(chance.gauss(0, noise))})
            for value in plan.values
        }
        for at in range(plan.blocks)
    ]


class Bench:
    """A machine whose value is known, and that may fail."""

    def __init__(self, fail_at: int = 0, error: BaseException | None = None) -> None:
        self.value, self.log = "before", list[str]()
        self._left, self._error = fail_at, error

    def switch(self, value: str) -> None:
        self.value = value

    def measure(self, seconds: float) -> Measured:
        self.log.append(self.value)
        self._left -= 1
        if self._left == 0 and self._error is not None:
            raise self._error
        return Measured(seconds, {METRIC: 100.0 * len(self.value)})

    def restore(self) -> None:
        self.value = "before"

    def hands(self, steps: list[Step] | None = None) -> SweepHands:
        watching = (lambda _: None) if steps is None else steps.append
        return SweepHands(self.switch, self.measure, lambda _: None, self.restore, progress=watching)


def test_each_block_has_every_value_once_in_an_order_of_its_own() -> None:
    made = orders(PLAN)
    assert len(made) == 12
    assert all(sorted(block) == sorted(PLAN.values) for block in made)
    assert len(set(made)) > 6
    assert made == orders(PLAN)
    assert made != orders(replace(PLAN, seed=43))


def test_every_block_is_measured_and_the_machine_is_put_back() -> None:
    bench, steps = Bench(), list[Step]()
    done = conduct(PLAN, bench.hands(steps))

    assert (len(done.blocks), done.why, bench.value) == (12, "", "before")
    assert bench.log == [value for block in orders(PLAN) for value in block]
    assert [one.seconds_left for one in steps[:2]] == [48 * 2.5, 47 * 2.5]
    assert steps[-1].seconds_left == 2.5


def test_a_failure_is_told_with_the_blocks_that_are_whole() -> None:
    bench = Bench(fail_at=10, error=RoundError("the server died"))
    done = conduct(PLAN, bench.hands())

    assert (len(done.blocks), done.why, bench.value) == (2, "the server died", "before")
    assert done.put_back


def test_an_interrupt_is_raised_on_when_the_machine_is_put_back() -> None:
    bench = Bench(fail_at=3, error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        conduct(PLAN, bench.hands())
    assert bench.value == "before"


def test_what_cannot_be_measured_ends_it_with_the_reason() -> None:
    seconds = list[float]()

    def measure(asked_s: float) -> Measured:
        seconds.append(asked_s)
        return Measured(asked_s, {}, {METRIC: "no packets"})

    done = conduct(PLAN, replace(Bench().hands(), measure=measure))
    assert done.why.startswith("too many rounds did not count; the last, of ")
    assert done.why.endswith("could not be measured: no packets")
    assert len(seconds) == 1 + PLAN.blocks


def test_a_round_that_does_not_count_is_measured_again_at_once() -> None:
    bench, recorded = Bench(), list[tuple[str, int, str]]()

    def measure(seconds: float) -> Measured:
        found = bench.measure(seconds)
        return replace(found, unused="the server stalled") if len(bench.log) == 3 else found

    def record(value: str, block: int, found: Measured) -> None:
        recorded.append((value, block, found.unused))

    done = conduct(PLAN, replace(bench.hands(), measure=measure, record=record))
    first = orders(PLAN)[0]
    assert (len(done.blocks), done.why) == (12, "")
    assert bench.log[:5] == [first[0], first[1], first[2], first[2], first[3]]
    assert [one for one in recorded if one[2]] == [(first[2], 1, "the server stalled")]
    assert not any(one.unused for block in done.blocks for one in block.values())


def test_a_round_whose_cpu_a_neighbour_took_is_measured_again() -> None:
    bench = Bench()

    def measure(seconds: float) -> Measured:
        stolen = 40.0 if len(bench.log) == 4 * 5 + 1 else 1.0  # in the sixth block
        return replace(bench.measure(seconds), steal_percent=stolen)

    done = conduct(PLAN, replace(bench.hands(), measure=measure))
    assert (len(done.blocks), len(bench.log)) == (12, 4 * 12 + 1)
    assert {one.steal_percent for block in done.blocks for one in block.values()} == {1.0}


def test_that_the_machine_cannot_be_put_back_is_told() -> None:
    def stuck() -> None:
        raise RoundError("rps_cpus was not given back")

    done = conduct(PLAN, replace(Bench().hands(), restore=stuck))
    assert done.why == "the machine could not be put back: rps_cpus was not given back"
    assert (done.put_back, len(done.blocks)) == (False, 12)


def test_a_curve_is_told_against_the_first_value_with_its_intervals() -> None:
    points = curve(PLAN, blocks(PLAN, {"1": 100, "2": 150, "4": 180, "8": 181}))

    assert [one.value for one in points] == ["1", "2", "4", "8"]
    assert points[0].effect is None
    for point, truth in zip(points[1:], (50, 80, 81), strict=True):
        assert point.effect is not None
        assert point.effect.low_percent is not None
        assert point.effect.high_percent is not None
        assert point.effect.low_percent < truth < point.effect.high_percent
        assert point.effect.high_percent - point.effect.low_percent < 8


@pytest.mark.parametrize(
    ("truth", "value", "said"),
    [
        ((100, 150, 180, 180), "4", "4 is better than 2, and no later value is proven better"),
        ((100, 150, 150, 150), "2", "2 is better than 1"),
        ((100, 150, 150, 120), "2", "2 is better than 1"),
        ((100, 120, 150, 180), None, "still gets better up to 8"),
        ((100, 100, 100, 100), None, "no other value is proven better than 1"),
        ((180, 150, 120, 100), None, "no other value is proven better than 1"),
    ],
)
def test_where_the_knee_is(truth: tuple[float, ...], value: str | None, said: str) -> None:
    found = knee(PLAN, blocks(PLAN, dict(zip(PLAN.values, truth, strict=True))))
    assert found.value == value
    assert said in found.why


def test_fewer_exits_are_better_where_down_is() -> None:
    plan = replace(PLAN, better=Better.DOWN)
    assert knee(plan, blocks(plan, {"1": 180, "2": 120, "4": 100, "8": 100})).value == "4"


def test_five_blocks_resolve_nothing() -> None:
    plan = replace(PLAN, blocks=5)
    assert knee(plan, blocks(plan, {"1": 100, "2": 150, "4": 180, "8": 180})).value is None


def test_noise_alone_has_no_knee_in_nearly_all_sweeps() -> None:
    flat = dict.fromkeys(PLAN.values, 100.0)
    found = [knee(PLAN, blocks(PLAN, flat, noise=0.1, seed=seed)).value for seed in range(200)]
    assert sum(one is not None for one in found) <= 10

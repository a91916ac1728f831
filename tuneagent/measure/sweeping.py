"""A sweep over the values of one tunable: randomised blocks, the curve with its intervals, and the knee. Pure.

Each block measures every value once, in an order of its own, so that what drifts slowly falls on all values alike. A
round that does not count is measured again at once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tuneagent.measure.effect import PAIRS_LEAST, USUAL, Data, Pair, effect
from tuneagent.measure.rounds import Measured, RoundError
from tuneagent.measure.steal import taken
from tuneagent.measure.student import tail
from tuneagent.model.sweep import Knee, Point
from tuneagent.model.trial import Better

_AGAIN_LEAST = 4
"""Rounds of a sweep that may be measured again; as many as it has blocks where these are more."""
Block = Mapping[str, Measured]
"""By value."""


@dataclass(frozen=True, slots=True)
class Step:
    """The round that begins."""

    value: str
    block: int
    blocks: int
    seconds_left: float


@dataclass(frozen=True, slots=True)
class SweepHands:
    """What the conductor works with; as ``rounds.Hands``."""

    switch: Callable[[str], None]
    measure: Callable[[float], Measured]
    wait: Callable[[float], None]
    restore: Callable[[], None]
    record: Callable[[str, int, Measured], None] = lambda _value, _block, _measured: None
    """A round of a value, with the number of its block from 1; also one that does not count and is measured again."""
    progress: Callable[[Step], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is swept, and how."""

    values: tuple[str, ...]
    """In the order in which they are told; the first is what the others are compared with."""
    metric: str
    better: Better
    blocks: int
    round_s: float
    settle_s: float
    seed: int


@dataclass(frozen=True, slots=True)
class Swept:
    """How a sweep ended."""

    blocks: tuple[dict[str, Measured], ...] = field(default_factory=tuple)
    """Those that count: in each, every value was measured."""
    why: str = ""
    """Of a failure; empty where all blocks were measured."""
    put_back: bool = True
    """Whether the machine is as before."""


def orders(plan: Plan) -> tuple[tuple[str, ...], ...]:
    """The values of each block in its order; the same for the same seed."""
    coin = random.Random(plan.seed)  # noqa: S311 - an order that can be repeated, and no secret
    return tuple(tuple(coin.sample(plan.values, len(plan.values))) for _ in range(plan.blocks))


def conduct(plan: Plan, hands: SweepHands) -> Swept:
    """Measures all blocks, and puts the machine back in any case.

    A failure is told; whatever else is raised is raised on once the machine is put back.
    """
    blocks: list[dict[str, Measured]] = []
    why, put_back, sweeping = "", True, _Sweeping(plan, hands)
    try:
        for number, order in enumerate(orders(plan), 1):
            blocks.append(sweeping.block(number, order))
    except (RoundError, OSError) as error:
        why = str(error) or type(error).__name__
    except BaseException as error:
        _put_back(hands, error)
        raise
    try:
        hands.restore()
    except (RoundError, OSError) as error:
        why = "; and ".join(filter(None, (why, f"the machine could not be put back: {error}")))
        put_back = False
    return Swept(tuple(blocks), why, put_back)


class _Sweeping:
    """A sweep while it runs."""

    def __init__(self, plan: Plan, hands: SweepHands) -> None:
        self._plan, self._hands = plan, hands
        self._again = max(_AGAIN_LEAST, plan.blocks)
        self._steal: dict[str, list[float]] = {value: [] for value in plan.values}

    def block(self, number: int, order: Sequence[str]) -> dict[str, Measured]:
        """Every value once, those that are measured again at once."""
        plan, block = self._plan, dict[str, Measured]()
        for place, value in enumerate(order):
            left = ((plan.blocks - number + 1) * len(order) - place) * (plan.round_s + plan.settle_s)
            self._hands.progress(Step(value, number, plan.blocks, left))
            block[value] = self._counting(value, number)
        return block

    def _counting(self, value: str, number: int) -> Measured:
        """A round that counts. RoundError where too many do not."""
        while True:
            found = self._round(value, number)
            if not found.unused:
                return found
            self._again -= 1
            if self._again < 0:
                raise RoundError(f"too many rounds did not count; the last, of {value}: {found.unused}")

    def _round(self, value: str, number: int) -> Measured:
        self._hands.switch(value)
        self._hands.wait(self._plan.settle_s)
        found = self._hands.measure(self._plan.round_s)
        found = replace(found, unused=found.unused or self._why_unused(value, found))
        self._hands.record(value, number, found)
        if not found.unused and found.steal_percent is not None:
            self._steal[value].append(found.steal_percent)
        return found

    def _why_unused(self, value: str, found: Measured) -> str:
        metric = self._plan.metric
        if not math.isfinite(found.metrics.get(metric, math.nan)):
            return f"{metric} could not be measured: {found.missing.get(metric, 'no reason was given')}"
        return taken(found.steal_percent, self._steal[value])


def _put_back(hands: SweepHands, reason: BaseException) -> None:
    try:
        hands.restore()
    except (RoundError, OSError) as error:
        reason.add_note(f"and the machine could not be put back: {error}")


def curve(plan: Plan, blocks: Sequence[Block]) -> tuple[Point, ...]:
    """A point for each value; intervals for all values at once (Bonferroni). Empty without blocks."""
    first = plan.values[0]
    beyond = USUAL / max(1, len(plan.values) - 1)
    points = []
    for value in plan.values if blocks else ():
        data = _data(plan, blocks, first, value)
        found = effect(data, beyond, 0, plan.better)
        if found is not None:
            points.append(Point(value, found.b_mean, None if value == first else found))
    return tuple(points)


def knee(plan: Plan, blocks: Sequence[Block]) -> Knee:
    """The smallest value than which no later one is proven better, where the one before it is proven worse.

    "Proven" pays for all comparisons of two values that there are.
    """
    values = plan.values
    if len(blocks) < PAIRS_LEAST:
        return Knee(None, f"not resolved: a comparison needs {PAIRS_LEAST} blocks")
    beaten = [
        any(_is_better(plan, blocks, value, later) for later in values[at + 1 :]) for at, value in enumerate(values)
    ]
    at = next(place for place, one in enumerate(beaten) if not one)
    if at == 0:
        return Knee(None, f"not resolved: no other value is proven better than {values[0]}")
    if not _is_better(plan, blocks, values[at - 1], values[at]):
        return Knee(None, f"not resolved: {values[at]} is not told from {values[at - 1]}, which later values beat")
    if at == len(values) - 1:
        return Knee(None, f"not resolved: it still gets better up to {values[at]}, the last value")
    return Knee(values[at], f"{values[at]} is better than {values[at - 1]}, and no later value is proven better")


def _is_better(plan: Plan, blocks: Sequence[Block], one: str, other: str) -> bool:
    comparisons = len(plan.values) * (len(plan.values) - 1) // 2
    sample = _data(plan, blocks, one, other).gain(0, plan.better)
    return sample is not None and tail(sample.t, sample.df) < USUAL / comparisons


def _data(plan: Plan, blocks: Sequence[Block], one: str, other: str) -> Data:
    pairs = (Pair(block[one].metrics[plan.metric], block[other].metrics[plan.metric]) for block in blocks)
    return Data(plan.metric, tuple(pairs))

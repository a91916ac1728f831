"""A sweep over the values of one tunable: randomised blocks, the curve with its intervals, and the knee. Pure.

Each block measures every value once, in an order of its own, so that what drifts slowly falls on all values alike.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tuneagent.measure.effect import PAIRS_LEAST, USUAL, Data, Pair, effect
from tuneagent.measure.rounds import Measured, RoundError
from tuneagent.measure.student import tail
from tuneagent.model.sweep import Knee, Point
from tuneagent.model.trial import Better

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
    """A round of a value, with the number of its block from 1."""
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
    """How a sweep ended; the machine is as before."""

    blocks: tuple[dict[str, Measured], ...] = field(default_factory=tuple)
    """Those that count: in each, every value was measured."""
    why: str = ""
    """Of a failure; empty where all blocks were measured."""


def orders(plan: Plan) -> tuple[tuple[str, ...], ...]:
    """The values of each block in its order; the same for the same seed."""
    coin = random.Random(plan.seed)  # noqa: S311 - an order that can be repeated, and no secret
    return tuple(tuple(coin.sample(plan.values, len(plan.values))) for _ in range(plan.blocks))


def conduct(plan: Plan, hands: SweepHands) -> Swept:
    """Measures all blocks, and puts the machine back in any case.

    A failure is told; whatever else is raised is raised on once the machine is put back.
    """
    blocks: list[dict[str, Measured]] = []
    why = ""
    try:
        for number, order in enumerate(orders(plan), 1):
            blocks.append(_block(plan, hands, number, order))
    except (RoundError, OSError) as error:
        why = str(error) or type(error).__name__
    except BaseException as error:
        _put_back(hands, error)
        raise
    try:
        hands.restore()
    except (RoundError, OSError) as error:
        why = "; and ".join(filter(None, (why, f"the machine could not be put back: {error}")))
    return Swept(tuple(blocks), why)


def _put_back(hands: SweepHands, reason: BaseException) -> None:
    try:
        hands.restore()
    except (RoundError, OSError) as error:
        reason.add_note(f"and the machine could not be put back: {error}")


def _block(plan: Plan, hands: SweepHands, number: int, order: Sequence[str]) -> dict[str, Measured]:
    block: dict[str, Measured] = {}
    for place, value in enumerate(order):
        left = ((plan.blocks - number + 1) * len(order) - place) * (plan.round_s + plan.settle_s)
        hands.progress(Step(value, number, plan.blocks, left))
        hands.switch(value)
        hands.wait(plan.settle_s)
        found = hands.measure(plan.round_s)
        hands.record(value, number, found)
        if found.unused or not math.isfinite(found.metrics.get(plan.metric, math.nan)):
            reason = found.unused or found.missing.get(plan.metric, "no reason was given")
            raise RoundError(f"{plan.metric} at {value} could not be measured: {reason}")
        block[value] = found
    return block


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

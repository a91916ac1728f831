"""When a trial is looked at, and what each look costs, so that all looks together are wrong no more often than one.

Lan and DeMets (1983): a function of the share of the pairs says how much of the error may be spent by then, and the
boundary at each look spends what is new. The boundary of the normal process comes from the recursion of Armitage,
McPherson and Rowe (1969) and is taken over to Student's t at the same tail probability; the simulations hold the sum.

The function is stricter than O'Brien and Fleming's: a sixth power, so that the last look is nearly that of a trial that
was never looked at, and beside it a tenth of the error evenly, so that a large effect ends a trial early however many
pairs it might have had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from tuneagent.measure.effect import Sample
from tuneagent.measure.student import normal_tail, normal_upper, upper

KEEP = 0.025
"""Probability of keeping what does nothing, over all looks."""
REVERT = 0.01
"""Of calling worse what does nothing. Less than to keep: reverted or undecided, the machine is as before."""
HOPELESS = 0.05
"""A trial ends when its chance to be decided is below this, were the truth at the favourable end of 80 %."""
_FAVOURABLE = 0.1
_POWER = 6
_EVENLY = 0.1
_BLOCK = 2
"""Pairs between looks: an ABBA block, within which a steady drift cancels."""
_MOST_LOOKS = 40
_GRID = 160
"""Intervals of Simpson's rule; even."""
_FAR = 6.0
"""Standard deviations below which a process is not followed: it will not come back."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """After how many pairs a trial is looked at, and the tail probability that must be undercut there, by decision."""

    looks: tuple[int, ...]
    keep: tuple[float, ...]
    revert: tuple[float, ...]

    def taken(self, pairs: int) -> int:
        """How many looks there were by then."""
        return sum(look <= pairs for look in self.looks)

    def limits(self, pairs: int) -> tuple[float, float] | None:
        """The tail probabilities for keep and revert after so many pairs; None before the first look.

        A trial that was cut short between two looks gets the stricter of both.
        """
        taken = self.taken(pairs)
        if not taken:
            return None
        if pairs >= self.looks[-1] or pairs in self.looks:
            return self.keep[taken - 1], self.revert[taken - 1]
        return min(self.keep[taken - 1 : taken + 1]), min(self.revert[taken - 1 : taken + 1])


@lru_cache(maxsize=64)
def schedule(first: int, last: int) -> Schedule:
    """Looks after ``first`` pairs, then after each block, and after ``last`` pairs; none where last < first."""
    if last < first:
        return Schedule((), (), ())
    step = max(_BLOCK, _BLOCK * math.ceil((last - first) / (_BLOCK * _MOST_LOOKS)))
    looks = (*range(first, last, step), last)
    return Schedule(looks, _boundary(looks, KEEP), _boundary(looks, REVERT))


def chance(sample: Sample, last: int, limit: float, df_last: int) -> float:
    """Probability that a mean ends above zero beyond the tail ``limit`` after ``last`` pairs, seen favourably.

    The truth is taken to lie at the upper end of the 80 % interval, and the spread to be what it was.
    """
    left = last - sample.pairs
    spread = sample.error * math.sqrt(sample.pairs)
    if left <= 0 or spread == 0:
        return float(sample.t > upper(limit, sample.df))
    needed_mean = upper(limit, df_last) * spread / math.sqrt(last)
    needed = (last * needed_mean - sample.pairs * sample.mean) / left
    truth = sample.mean + upper(_FAVOURABLE, sample.df) * sample.error
    return normal_tail((needed - truth) * math.sqrt(left) / spread)


def spent(share: float, error: float) -> float:
    """How much of the error may be spent when this share of the pairs is there."""
    return error * max(_EVENLY * share, share**_POWER) if share < 1 else error


def _boundary(looks: tuple[int, ...], error: float) -> tuple[float, ...]:
    """The tail probability at each look that spends what is new there, of a process that starts at zero."""
    limits, before, process = [], 0.0, _Process()
    for look in looks:
        by_now = spent(look / looks[-1], error)
        height = process.height(look, by_now - before)
        process = process.below(look, height)
        limits.append(normal_tail(height / math.sqrt(look)))
        before = by_now
    return tuple(limits)


class _Process:
    """The sum of independent normal steps that has stayed below its boundary so far: its density on a grid."""

    def __init__(self, time: int = 0, points: tuple[float, ...] = (0.0,), weights: tuple[float, ...] = (1.0,)) -> None:
        self._time, self._points, self._weights = time, points, weights

    def height(self, time: int, probability: float) -> float:
        """What is exceeded at this time, and never before, with this probability."""
        if not self._time:
            return normal_upper(probability) * math.sqrt(time)
        low, high = -_FAR * math.sqrt(time), 10 * math.sqrt(time)
        while high - low > 1e-7:  # noqa: PLR2004 - finer than the grid deserves
            middle = (low + high) / 2
            low, high = (middle, high) if self._above(time, middle) > probability else (low, middle)
        return (low + high) / 2

    def below(self, time: int, height: float) -> _Process:
        """The process at this time, where it is below the height."""
        bottom = -_FAR * math.sqrt(time)
        step = (height - bottom) / _GRID
        points = tuple(bottom + index * step for index in range(_GRID + 1))
        simpson = (1 if index in {0, _GRID} else 4 if index % 2 else 2 for index in range(_GRID + 1))
        weights = (weight * step / 3 * self._density(time, x) for weight, x in zip(simpson, points, strict=True))
        return _Process(time, points, tuple(weights))

    def _above(self, time: int, height: float) -> float:
        sigma = math.sqrt(time - self._time)
        pairs = zip(self._points, self._weights, strict=True)
        return math.fsum(weight * normal_tail((height - point) / sigma) for point, weight in pairs)

    def _density(self, time: int, x: float) -> float:
        twice = 2.0 * (time - self._time)
        pairs = zip(self._points, self._weights, strict=True)
        return math.fsum(w * math.exp(-((x - p) ** 2) / twice) for p, w in pairs) / math.sqrt(math.pi * twice)

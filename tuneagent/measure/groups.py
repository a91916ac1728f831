"""Whether the rounds of one arm fall into two groups: then their mean is a value that no round had.

It happens where the load's processes are not pinned: a round is fast or slow by which CPU they landed on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

ROUNDS_LEAST = 6
"""Of fewer, two groups cannot be told from scatter."""
_SHARE = 0.93
"""Of the variance of the logarithms that lies between the groups: seven standard deviations of a group apart."""
_STRICTER = 0.0092
"""More for each round below twelve, because the best split of few values takes more. So drawn, noise of one group is
called two in about 1 of 100 arms (normal, heavy-tailed, or evenly spread as by a drift)."""
_MANY = 12
_LEAST_RATIO = 1.1
"""Levels that are closer than 10 % are no matter, however well they are told apart."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Two levels (geometric means) and how many rounds had each."""

    low: float
    low_rounds: int
    high: float
    high_rounds: int


def two_groups(values: Sequence[float]) -> Groups | None:
    """The two groups of positive values; None where they are one, or too few to tell."""
    if len(values) < ROUNDS_LEAST or min(values) <= 0:
        return None
    logs = sorted(map(math.log, values))
    least = max(2, math.ceil(len(logs) / 5))
    share, split = max(_shares(logs, least))
    low, high = fmean(logs[:split]), fmean(logs[split:])
    if share < _SHARE + _STRICTER * max(0, _MANY - len(logs)) or high - low < math.log(_LEAST_RATIO):
        return None
    return Groups(math.exp(low), split, math.exp(high), len(logs) - split)


def _shares(logs: Sequence[float], least: int) -> Iterator[tuple[float, int]]:
    """For each split into at least so many values: the share of the variance that lies between both sides, and it."""
    count, middle = len(logs), fmean(logs)
    centred = [value - middle for value in logs]
    whole = math.fsum(value * value for value in centred) or 1.0
    for split, below in enumerate(accumulate(centred), 1):
        if least <= split <= count - least:
            yield count * below * below / (split * (count - split)) / whole, split

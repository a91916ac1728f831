"""A figure, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tuneagent.model.figure import figure

MOST_PER_SEC = 1e9
"""Packets, kicks or interrupts a second that no guest has: one a nanosecond."""


@dataclass(frozen=True, slots=True)
class Known:
    """Exactly one of the two is None."""

    value: float | None
    reason: str | None


def told(value: float) -> Known:
    """A figure of the host, or one that was held against what is possible."""
    return Known(value, None)


def unknown(reason: str) -> Known:
    """No figure."""
    return Known(None, reason)


def believed(value: float | None, what: str) -> Known:
    """A guest's rate, if it can be true; ``what`` names it: ``eth0's received packets``."""
    if value is None:
        return unknown(f"the guest does not tell {what}")
    if not 0 <= value <= MOST_PER_SEC:
        shown = figure(float(value)) if abs(value) < MOST_PER_SEC**2 else "no number"
        return unknown(f"the guest tells {shown} of {what} a second, which cannot be")
    return told(value)


def total(parts: Iterable[Known], none: str) -> Known:
    """The sum; the first reason where a part is unknown, and ``none`` where there is no part."""
    known = list(parts)
    if not known:
        return unknown(none)
    first = next((one for one in known if one.value is None), None)
    return first or told(sum(one.value for one in known if one.value is not None))


def over(numerator: Known, denominator: Known, nothing: str) -> Known:
    """The ratio; ``nothing`` is the reason where there is nothing to divide by."""
    if numerator.value is None:
        return numerator
    if denominator.value is None:
        return denominator
    ratio = numerator.value / denominator.value if denominator.value > 0 else math.inf
    return told(ratio) if math.isfinite(ratio) else unknown(nothing)

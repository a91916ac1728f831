"""Rounds whose CPU a neighbour took: far more steal than in the other rounds of the same arm.

Only the same arm is compared with: where B itself makes the host busier, that belongs to what B does.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tuneagent.model.trial import Round

OTHERS_LEAST = 3
"""Rounds of the arm to compare with; before that nobody knows what is usual here."""
POINTS = 5.0
"""Percent of a CPU above the median of the others."""
TIMES = 2.0
"""And so many times that median."""


def stolen(rounds: Sequence[Round]) -> dict[int, str]:
    """By number the rounds, of those that count, that should not, and why."""
    counted = [one for one in rounds if not one.unused]
    found = ((one.number, _why(one, counted)) for one in counted)
    return {number: why for number, why in found if why}


def _why(one: Round, counted: Sequence[Round]) -> str:
    others = [
        other.steal_percent
        for other in counted
        if other.arm is one.arm and other.number != one.number and other.steal_percent is not None
    ]
    return taken(one.steal_percent, others)


def taken(percent: float | None, others: Sequence[float]) -> str:
    """Why a round of so much steal does not count beside the steal of ``others`` like it; empty where it does."""
    if percent is None or len(others) < OTHERS_LEAST:
        return ""
    usual = median(others)
    if percent <= max(usual + POINTS, usual * TIMES):
        return ""
    return "a neighbour took the CPU: far more steal than in the other rounds"

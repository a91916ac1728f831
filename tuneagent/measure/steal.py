"""Rounds whose CPU a neighbour took: far more steal than in the other rounds of the same arm.

Only the same arm is compared with: where B itself makes the host busier, that belongs to what B does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from tuneagent.model.trial import Arm, Round

OTHERS_LEAST = 3
"""Rounds of the arm to compare with; before that nobody knows what is usual here."""
POINTS = 5.0
"""Percent of a CPU above the median of the others."""
TAKEN = "the CPU was taken: far more steal than is usual in its arm"
PARTNER = "the other round of its pair does not count"
SET_ASIDE = frozenset({TAKEN, PARTNER})
"""What a pair is called whose CPU was taken in one of its rounds."""
MOST_MORE = 2
"""Rounds that an arm may lose more than the other."""
TIMES = 2.0
"""And so many times that median."""


def stolen(rounds: Sequence[Round]) -> dict[int, str]:
    """By number the rounds, of those that count, that should not, and why.

    An arm that has lost ``MOST_MORE`` rounds more than the other loses no more: a neighbour takes from both alike, and
    what falls on one arm alone may be what that state of the machine does, which must not be left out of it.
    """
    counted = [one for one in rounds if not one.unused]
    lost = Counter(one.arm for one in rounds if one.unused == TAKEN)
    found: dict[int, str] = {}
    for one in counted:
        if lost[one.arm] - lost[_other(one.arm)] < MOST_MORE and (why := _why(one, counted)):
            found[one.number] = why
            lost[one.arm] += 1
    return found


def _other(arm: Arm) -> Arm:
    return Arm.B if arm is Arm.A else Arm.A


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
    return TAKEN

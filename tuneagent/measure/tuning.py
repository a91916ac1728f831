"""What a tuning tries first, and how much of its time each trial may take. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tuneagent.measure.effect import PAIRS_LEAST
from tuneagent.model.metrics import TRANSACTIONS
from tuneagent.model.plan import Advice
from tuneagent.model.policy import Disruption
from tuneagent.model.tuning import Attempt, Tried

_COST = {disruption: place for place, disruption in enumerate(Disruption)}


def ordered(advice: Iterable[Advice]) -> tuple[Advice, ...]:
    """Most to gain first; then the worst finding, then what disturbs least, then by name."""
    return tuple(sorted(advice, key=_rank))


def expected_percent(advice: Advice) -> float:
    """The largest effect that it expects, in percent, the middle of a range; 0 where nobody measured one."""
    return max((abs(one.percent_low + one.percent_high) / 2 for one in advice.expects), default=0.0)


def _rank(advice: Advice) -> tuple[float, int, int, str, str]:
    severity = max((finding.severity for finding in advice.findings), default=-1)
    return -expected_percent(advice), -severity, _COST[advice.disruption], advice.policy, advice.subject


def again(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """What was taken back before something else won: that stands now, and may have mended what stood in its way.

    Not what a guard has failed: its harm was seen, and is no gain that something hid.
    """
    last = max((place for place, one in enumerate(attempts) if one.became is Tried.KEPT), default=0)
    return tuple(one for one in attempts[:last] if one.became is Tried.TAKEN_BACK and not _harmed(one))


def primary_of_all(attempts: Sequence[Attempt]) -> str | None:
    """What decides of all winners together: what decided each, where that was the same; else transactions/s.

    None where nobody can say. What is gained in transactions is what the others are for.
    """
    decided = dict.fromkeys(
        one.trial.question.primary for one in attempts if one.became is Tried.KEPT and one.trial is not None
    )
    if len(decided) > 1 and TRANSACTIONS in decided:
        return TRANSACTIONS
    return next(iter(decided), None)


def _harmed(one: Attempt) -> bool:
    verdict = one.trial.verdict if one.trial is not None else None
    return verdict is not None and any(guard.failed for guard in verdict.guards)


def pairs_least(pairs_min: int, pairs_max: int) -> int:
    """That a trial must have time for: with fewer it cannot come to a verdict. More than ``pairs_max`` is never."""
    return min(max(PAIRS_LEAST, pairs_min), pairs_max)


def pairs_within(
    seconds_left: float, pair_s: float, trials_left: int, most: int, least: int = PAIRS_LEAST, *, kept_s: float = 0
) -> int:
    """How many pairs the next of ``trials_left`` trials may measure; 0 where there is no time for a verdict.

    Each trial has an equal share of the time that is left. A share that is too small for a verdict becomes the least
    that is enough: the first of the order have more to gain than those that then go without. But ``kept_s`` are kept
    for what must follow: a confirmation, without which all that won is lost.
    """
    if pair_s <= 0 or trials_left < 1 or seconds_left < least * pair_s + kept_s:
        return 0
    return min(most, max(least, int(seconds_left / trials_left // pair_s)))

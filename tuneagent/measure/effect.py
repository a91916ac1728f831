"""What B does to a metric: from pairs of rounds, as a ratio where there is one to take, else as a difference.

A pair's two rounds are neighbours in time, so that what drifts slowly cancels; the logarithm makes +25 % and -20 % the
same step. Metrics that may be nothing (drops) have no logarithm: there B minus A is taken, and a limit of L percent
becomes the question whether B minus (1 + L/100) A is above zero, which needs no division by what may be zero.

The interval is Student's, on purpose also for few pairs: in an A/A trial the two rounds of a pair are exchangeable, so
their difference is symmetric whatever the noise looks like, and there the t test is true to its level or below it (the
simulations hold it against heavy-tailed and two-level noise). An exact sign-flip test of six pairs cannot go below
2/64, so that paying for looks would forbid it any early verdict.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, TypeGuard

from tuneagent.measure.student import noncentrality_for, upper
from tuneagent.model.metrics import MAY_BE_ZERO
from tuneagent.model.trial import Arm, Better, Effect, Round

PAIRS_LEAST = 6
"""No interval with fewer: an exact one of 95 % cannot leave zero out (2/32 of five pairs)."""
BOOTS_LEAST = 4
"""Of each arm, where each round has a boot of its own and boots are not paired: 2/70."""
FOUND = 0.8
"""How often an effect would have to be found to be called detectable."""
USUAL = 0.025
"""On either side of a 95 % interval."""
_HUGE = 1e150
"""Beyond it a number is a fault of its source: its square would overflow."""
_MOST_LOG = 300.0


class Pair(NamedTuple):
    """One metric in the two rounds of a pair."""

    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Sample:
    """A mean with its standard error, and the degrees of freedom of that."""

    mean: float
    error: float
    df: int
    pairs: int

    @property
    def t(self) -> float:
        """Standard errors from zero; infinite where nothing varies and the mean is not zero."""
        if self.error > 0:
            return self.mean / self.error
        return math.copysign(math.inf, self.mean) if self.mean else 0.0

    def reversed(self) -> Sample:
        """The same of A against B."""
        return Sample(-self.mean, self.error, self.df, self.pairs)


@dataclass(frozen=True, slots=True)
class Data:
    """The pairs of one metric, and how they are compared."""

    metric: str
    pairs: tuple[Pair, ...]
    cold: bool = False
    """Each round has a boot of its own: the arms are compared without pairing."""

    @property
    def differs(self) -> bool:
        """Whether differences are taken, and no ratios."""
        return self.metric in MAY_BE_ZERO or any(a <= 0 or b <= 0 for a, b in self.pairs)

    @property
    def enough(self) -> bool:
        """Whether an interval can be given."""
        return len(self.pairs) >= (BOOTS_LEAST if self.cold else PAIRS_LEAST)

    def against(self, ratio: float) -> Sample | None:
        """B against ``ratio`` times A: above zero where B is more. None with fewer than two pairs, or no ratio."""
        if len(self.pairs) < 2 or ratio <= 0:  # noqa: PLR2004 - one pair has no spread
            return None
        if self.differs:
            return _sample([ratio * a for a, _ in self.pairs], [b for _, b in self.pairs], cold=self.cold)
        logs = [(math.log(ratio) + math.log(a), math.log(b)) for a, b in self.pairs]
        return _sample([a for a, _ in logs], [b for _, b in logs], cold=self.cold)

    def gain(self, percent: float, better: Better) -> Sample | None:
        """By how much B is more than ``percent`` better; above zero where it is. None where there is no better."""
        if better is Better.UP:
            return self.against(1 + percent / 100)
        sample = self.against(1 - percent / 100) if better is Better.DOWN else None
        return sample.reversed() if sample else None


def complete(rounds: Iterable[Round], also: Collection[str] = ()) -> tuple[tuple[Round, Round], ...]:
    """The pairs (A, B) both of whose rounds count, in order; with those that do not count for one of these reasons."""
    found: dict[int, dict[Arm, Round]] = {}
    for one in rounds:
        if not one.unused or one.unused in also:
            found.setdefault(one.pair, {})[one.arm] = one
    return tuple((arms[Arm.A], arms[Arm.B]) for _, arms in sorted(found.items()) if len(arms) == len(Arm))


def data(metric: str, pairs: Iterable[tuple[Round, Round]], *, cold: bool = False) -> Data:
    """One metric of the pairs in both of whose rounds it was measured."""
    both = ((a.metrics.get(metric), b.metrics.get(metric)) for a, b in pairs)
    return Data(metric, tuple(Pair(a, b) for a, b in both if _sane(a) and _sane(b)), cold)


def _sane(value: float | None) -> TypeGuard[float]:
    return value is not None and -_HUGE < value < _HUGE  # neither of which holds for what is no number


def effect(data: Data, beyond: float = USUAL, gain_percent: float = 0, better: Better = Better.UP) -> Effect | None:
    """B against A, with its interval; None without a single pair.

    ``beyond`` is the probability on either side of the interval. A detectable effect is one that would be proven to be
    more than ``gain_percent`` in the direction that is better.
    """
    if not data.pairs:
        return None
    sample = data.against(1)
    critical = upper(beyond, sample.df) if sample and data.enough else None
    if data.differs:
        return _difference(data, sample, critical, gain_percent)
    return _ratio(data, sample, critical, _log_gain(gain_percent, better), down=better is Better.DOWN)


def _ratio(data: Data, sample: Sample | None, critical: float | None, gain: float, *, down: bool) -> Effect:
    a_mean, b_mean = (math.exp(fmean(map(math.log, side))) for side in zip(*data.pairs, strict=True))
    mean = sample.mean if sample else math.log(data.pairs[0].b / data.pairs[0].a)
    low = high = detectable = None
    if sample and critical is not None:
        low, high = (_percent(mean + sign * critical * sample.error) for sign in (-1, 1))
        step = gain + noncentrality_for(FOUND, critical, sample.df) * sample.error
        detectable = -_percent(-step) if down else _percent(step)
    spread = sample.error * math.sqrt(sample.pairs) if sample else None
    return Effect(
        data.metric, len(data.pairs), a_mean, b_mean, _percent(mean), low, high, spread, detectable, _method(data)
    )


def _difference(data: Data, sample: Sample | None, critical: float | None, gain_percent: float) -> Effect:
    a_mean, b_mean = (fmean(side) for side in zip(*data.pairs, strict=True))
    mean = b_mean - a_mean
    low = high = step = None
    if sample and critical is not None:
        low, high = (mean + sign * critical * sample.error for sign in (-1, 1))
        step = noncentrality_for(FOUND, critical, sample.df) * sample.error

    def share(value: float | None) -> float | None:
        if value is None or a_mean <= 0:
            return 0.0 if value == 0 else None
        return 100 * value / a_mean

    detectable = share(step)
    return Effect(
        metric=data.metric,
        pairs=len(data.pairs),
        a_mean=a_mean,
        b_mean=b_mean,
        percent=share(mean),
        low_percent=share(low),
        high_percent=share(high),
        sd_log_ratio=None,
        detectable_percent=None if detectable is None else detectable + gain_percent,
        method=_method(data),
        difference=mean,
        low_difference=low,
        high_difference=high,
    )


def _sample(a: Sequence[float], b: Sequence[float], *, cold: bool) -> Sample:
    """B minus A. The error of boots is pooled; it too goes with one over the root of the number of each arm."""
    count = len(a)
    differences = [y - x for x, y in zip(a, b, strict=True)]
    spread = _variance(a) + _variance(b) if cold else _variance(differences)
    return Sample(fmean(differences), math.sqrt(spread / count), (2 if cold else 1) * (count - 1), count)


def _variance(values: Sequence[float]) -> float:
    """As statistics.variance, which takes fractions and twenty times as long."""
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _log_gain(percent: float, better: Better) -> float:
    """How many steps of the logarithm a gain is; a gain of 100 % downwards is beyond all measure."""
    if better is Better.DOWN:
        return -math.log1p(-percent / 100) if percent < 100 else _MOST_LOG  # noqa: PLR2004 - all of it
    return math.log1p(percent / 100)


def _percent(log_ratio: float) -> float:
    return 100 * math.expm1(max(-_MOST_LOG, min(_MOST_LOG, log_ratio)))


def _method(data: Data) -> str:
    what = "differences" if data.differs else "log ratios"
    if not data.enough:
        least = f"{BOOTS_LEAST} boots of each" if data.cold else f"{PAIRS_LEAST} pairs"
        return f"no interval with fewer than {least}"
    return f"t interval of {what} between boots" if data.cold else f"t interval of paired {what}"

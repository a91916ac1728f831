"""Student's t distribution, central to ten digits and noncentral to seven: the stdlib has only the normal one.

The regularised incomplete beta function by its continued fraction (NIST DLMF 8.17.22), summed by Lentz's method; the
noncentral distribution by Simpson's rule over that of the estimated standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_TERMS = 500
"""Of the continued fraction; it needs about the square root of the degrees of freedom."""
_TINY = 1e-300
_ENOUGH = 1e-15
_STEPS = 400
"""Of Simpson's rule; even."""
_HALVINGS = 200


def tail(t: float, df: float) -> float:
    """P(T > t) of Student's t with ``df`` > 0 degrees of freedom; keeps its relative precision far out."""
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    square = t * t
    if square > 1:
        beyond = _incomplete_beta(df / 2, 0.5, df / (df + square)) / 2
    else:  # as it stands, 1 - x would lose what x has
        beyond = (1 - _incomplete_beta(0.5, df / 2, square / (df + square))) / 2
    return beyond if t >= 0 else 1 - beyond


@lru_cache(maxsize=4096)
def upper(probability: float, df: float) -> float:
    """The t that is exceeded with this probability, 0 < probability < 1."""
    if not 0 < probability < 1:
        raise ValueError(f"a probability between 0 and 1, not {probability}")
    if probability > 0.5:  # noqa: PLR2004 - the distribution is symmetric
        return -upper(1 - probability, df)
    top = 1.0
    while tail(top, df) > probability:
        top *= 2
    return _root(lambda t: probability - tail(t, df), 0.0, top)


def normal_tail(z: float) -> float:
    """P(Z > z) of the normal distribution; keeps its relative precision far out."""
    return math.erfc(z / math.sqrt(2)) / 2


def from_normal(z: float, df: float) -> float:
    """The t that is as improbable as this z."""
    beyond = normal_tail(abs(z))
    return math.copysign(upper(beyond, df), z) if beyond > 0 else math.copysign(math.inf, z)


def normal_upper(probability: float) -> float:
    """The z that is exceeded with this probability."""
    return -NormalDist().inv_cdf(probability)


def noncentral_tail(t: float, df: float, noncentrality: float) -> float:
    """P(T > t) where the mean is ``noncentrality`` standard errors from zero: the power of a one-sided test at t."""
    spread = 1 / math.sqrt(2 * df)
    low, high = max(0.0, 1 - 9 * spread), 1 + 11 * spread
    step = (high - low) / _STEPS
    log_scale = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    total = 0.0
    for index in range(_STEPS + 1):
        s = low + index * step
        if s > 0:
            density = math.exp(log_scale + (df - 1) * math.log(s) - df * s * s / 2)
        else:
            density = math.exp(log_scale) if df == 1 else 0.0
        weight = 1 if index in {0, _STEPS} else 4 if index % 2 else 2
        total += weight * density * normal_tail(t * s - noncentrality)
    return total * step / 3


@lru_cache(maxsize=1024)
def noncentrality_for(power: float, t: float, df: float) -> float:
    """How many standard errors from zero the mean must be for P(T > t) to be ``power``."""
    top = 1.0
    while noncentral_tail(t, df, top) < power:
        top *= 2
    return _root(lambda d: noncentral_tail(t, df, d) - power, 0.0, top, precision=1e-9)


def _root(rising: Callable[[float], float], low: float, high: float, precision: float = 1e-14) -> float:
    """Where a rising function passes zero between the two, by false position that halves (Illinois)."""
    at_low, at_high = rising(low), rising(high)
    if at_low >= 0:
        return low
    for _ in range(_HALVINGS):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < middle < high:
            middle = (low + high) / 2
        here = rising(middle)
        if here == 0 or high - low <= precision * max(1.0, abs(high)):
            return middle
        if here < 0:
            low, at_low, at_high = middle, here, at_high / 2
        else:
            high, at_high, at_low = middle, here, at_low / 2
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, its mirror does not
        return 1 - _incomplete_beta(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / a * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), from the front."""
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _off_zero(1 + factor * d)
            c = _off_zero(1 + factor / c)
            value *= c * d
        if abs(c * d - 1) < _ENOUGH:
            break
    return value


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY

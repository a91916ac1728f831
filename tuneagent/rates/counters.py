"""Growth of the kernel's counters: wraps are wraps, any other fall is no number."""

from __future__ import annotations

from collections.abc import Iterable

WRAP_32 = 1 << 32
"""The kernel's per-CPU interrupt, softirq and softnet counters are unsigned int."""
PLAUSIBLE_PER_SEC = 50_000_000
"""Events that one CPU cannot exceed: a 32-bit counter that seems to have grown faster was reset, or lies."""
PLAUSIBLE_64_PER_SEC = 10**12
"""Bytes a second of an interface of 8 Tbit/s; no counter of packets comes near it."""


def delta_32(before: int, after: int, seconds: float) -> int | None:
    """Growth of a 32-bit counter over ``seconds``, a wrap unwrapped; None where it cannot have grown so."""
    if before >= WRAP_32 or after >= WRAP_32:
        return None
    growth = (after - before) % WRAP_32
    return growth if growth <= PLAUSIBLE_PER_SEC * seconds else None


def delta_64(before: int | None, after: int | None) -> int | None:
    """Growth of a 64-bit counter; None when either is unknown or it fell (device reset, statistics cleared)."""
    if before is None or after is None or after < before:
        return None
    return after - before


def per_sec(count: int | None, seconds: float) -> float | None:
    """Events a second; None of an unknown count."""
    return None if count is None else count / seconds


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """None where either is unknown or there is nothing to divide by."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def sum_known(values: Iterable[float | None]) -> float | None:
    """The sum; None where one of them is unknown or there is none."""
    known = list(values)
    if not known or None in known:
        return None
    return sum(value for value in known if value is not None)

"""How much time passed between two samples, and why it may be no interval at all."""

from __future__ import annotations

from tuneagent.model.clock import Clock
from tuneagent.model.snapshot import Snapshot

SUSPEND_TOLERANCE_NS = 500_000_000
"""BOOTTIME may lead MONOTONIC by this much within an interval before we call it a suspend; readings are not atomic."""
SHORTEST_S = 0.05
"""Below this the tick of CPU times (10 ms at USER_HZ 100) and the reading itself are too large a part of it."""
LONGEST_S = 366 * 86_400
LONGEST_OF_EXPECTED = 3
"""Times the period that was meant; more is a suspend or a stall, not a busy scheduler."""


def interval(
    before: Snapshot, after: Snapshot, given_s: float | None, expected_s: float | None
) -> tuple[float | None, str | None]:
    """(seconds, None), or (None or seconds, the reason why there are no rates)."""
    seconds, reason = _passed(before, after, given_s)
    if reason is None and seconds is not None and expected_s is not None and seconds > LONGEST_OF_EXPECTED * expected_s:
        reason = f"{seconds:.0f} s passed where {expected_s:g} s were meant: the machine stood still or was suspended"
    return seconds, reason


def _passed(before: Snapshot, after: Snapshot, given_s: float | None) -> tuple[float | None, str | None]:
    boots = [identity.boot_id for identity in (before.identity, after.identity) if identity is not None]
    if len(boots) == 2 and None not in boots and boots[0] != boots[1]:  # noqa: PLR2004 - the two samples
        return None, "the machine was rebooted between the samples"
    if before.clock is None or after.clock is None:
        return given_s, None if given_s is None or given_s >= SHORTEST_S else "the interval is too short for rates"
    return _clock_interval(before.clock, after.clock)


def _clock_interval(before: Clock, after: Clock) -> tuple[float | None, str | None]:
    monotonic_ns = after.monotonic_ns - before.monotonic_ns
    if monotonic_ns <= 0:
        return None, "the second sample is not later than the first"
    suspended_ns = (after.boottime_ns - before.boottime_ns) - monotonic_ns
    if suspended_ns > SUSPEND_TOLERANCE_NS:
        return None, f"the machine was suspended for {suspended_ns / 1e9:.1f} s within the interval"
    if monotonic_ns > LONGEST_S * 1e9:
        return None, "the samples are more than a year apart"
    if monotonic_ns < SHORTEST_S * 1e9:
        return None, "the interval is too short for rates"
    return monotonic_ns / 1e9, None

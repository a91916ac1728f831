"""A guest's clock, as its /proc/uptime tells it."""

from __future__ import annotations

import re

from tuneagent.machine.guest_agent import garbled
from tuneagent.model.clock import Clock

UPTIME = "/proc/uptime"
_UPTIME = re.compile(r"([0-9]{1,10})\.([0-9]{2}) ")


def clock_of(uptime: str, realtime_ns: int) -> Clock:
    """The clock, to 10 ms: fs/proc/uptime.c prints CLOCK_BOOTTIME. SourceError for a text that is no uptime.

    No file tells CLOCK_MONOTONIC: the same stands for it, so that a suspend within the interval is not told from time
    that passed. CLOCK_REALTIME, ``realtime_ns``, is the host's: no rate is computed from it.
    """
    match = _UPTIME.match(uptime)
    if match is None:
        raise garbled(UPTIME, "no uptime")
    since_boot_ns = int(match[1]) * 10**9 + int(match[2]) * 10**7
    return Clock(since_boot_ns, since_boot_ns, realtime_ns)

"""What the agent itself costs the machine that it looks at."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

STATUS = "/proc/self/status"


@dataclass(frozen=True, slots=True)
class OwnCost:
    """The agent's own CPU time, with that of commands it ran, and the most memory it ever held."""

    cpu_seconds: float
    wall_seconds: float
    peak_rss_bytes: int


class CostMeter:
    """Measures from its entry on: ``with CostMeter() as meter: …; meter.cost()``."""

    def __init__(self) -> None:
        self._cpu = cpu_seconds()
        self._wall = time.monotonic()

    def __enter__(self) -> Self:
        self._cpu, self._wall = cpu_seconds(), time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """A meter may be read on after its block."""

    def cost(self) -> OwnCost:
        """What was spent since the entry; the memory is the peak since the start of the process."""
        return OwnCost(cpu_seconds() - self._cpu, time.monotonic() - self._wall, peak_rss_bytes())


def cpu_seconds() -> float:
    """CPU time of this process and of the children it waited for (getrusage(2); /proc/self/stat counts whole ticks)."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_rss_bytes() -> int:
    """VmHWM (proc(5)). getrusage's ru_maxrss survives execve, so that it may be the peak of who started us."""
    try:
        with open(STATUS, encoding="ascii", errors="replace") as status:
            rows = (line.split() for line in status)
            return next(int(row[1]) * 1024 for row in rows if row and row[0] == "VmHWM:")
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

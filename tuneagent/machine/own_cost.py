"""What the agent itself costs the machine that it looks at."""

from __future__ import annotations

import resource

STATUS = "/proc/self/status"


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

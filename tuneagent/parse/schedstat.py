"""/proc/PID/schedstat: time on a CPU, time waiting for one, and how often (Documentation/scheduler/sched-stats.rst)."""

from __future__ import annotations

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import natural, single

_FIELDS = 3


def parse(text: str) -> tuple[int, int]:
    """Nanoseconds run and waited since the task began; ParseError for anything but three numbers."""
    words = single(text).split()
    if len(words) != _FIELDS:
        raise ParseError(f"{_FIELDS} numbers are expected, not {len(words)}", 1)
    run, wait, _ = (natural(word, 1) for word in words)
    return run, wait

"""/proc/PID/schedstat: time on a CPU, time waiting for one, and how often (Documentation/scheduler/sched-stats.rst)."""

from __future__ import annotations

import re

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import U64_MAX, empty, shown

_LINE = re.compile(r"([0-9]{1,20}) ([0-9]{1,20}) [0-9]{1,20}\n?")


def parse(text: str) -> tuple[int, int]:
    """Nanoseconds run and waited since the task began; ParseError for anything but three numbers."""
    match = _LINE.fullmatch(text)
    if match is None:
        raise ParseError(f"{shown(text)} is not three numbers", 1) if text.strip() else empty()
    run, wait = int(match[1]), int(match[2])
    if run > U64_MAX or wait > U64_MAX:
        raise ParseError(f"{shown(text)} holds a number above {U64_MAX}", 1)
    return run, wait

"""/proc/PID/status: the CPUs that a process may run on (fs/proc/array.c, Documentation/filesystems/proc.rst 1.1)."""

from __future__ import annotations

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse import cpulist
from tuneagent.parse.lines import empty

_KEY = "Cpus_allowed_list"


def parse(text: str) -> CpuSet:
    """``Cpus_allowed_list``; ParseError where it is not there or not a list of CPUs, EMPTY for an empty text."""
    if not text or text.isspace():
        raise empty()
    for line, content in enumerate(text.split("\n"), 1):
        key, colon, value = content.partition(":")
        if colon and key == _KEY:
            return _cpus(value, line)
    raise ParseError(f"no {_KEY} in it")


def _cpus(value: str, line: int) -> CpuSet:
    try:
        return cpulist.parse(value)
    except ParseError as error:
        raise ParseError(error.detail, line) from error

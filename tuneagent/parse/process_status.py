"""/proc/PID/status: the CPUs that a process may run on (fs/proc/array.c, Documentation/filesystems/proc.rst 1.1)."""

from __future__ import annotations

import functools

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse import cpulist
from tuneagent.parse.lines import U32_MAX, empty, natural

_CPUS = "\nCpus_allowed_list:"
_THREAD_GROUP = "\nTgid:"


def parse(text: str) -> CpuSet:
    """``Cpus_allowed_list``; ParseError where it is not there or not a list of CPUs, EMPTY for an empty text."""
    value, line = _value(text, _CPUS)
    try:
        return _cpus(value)
    except ParseError as error:
        raise ParseError(error.detail, line) from error


def thread_group(text: str) -> int:
    """``Tgid``, the process that a thread belongs to; ParseError where it is not there or no number."""
    value, line = _value(text, _THREAD_GROUP)
    return natural(value.strip(), line, U32_MAX)


def _value(text: str, key: str) -> tuple[str, int]:
    # Found, not split into lines: a hypervisor has thousands of threads, and each text sixty lines.
    if not text or text.isspace():
        raise empty()
    whole = f"\n{text}"
    at = whole.find(key)
    if at < 0:
        raise ParseError(f"no {key[1:-1]} in it")
    begin = at + len(key)
    end = whole.find("\n", begin)
    return whole[begin : end if end >= 0 else len(whole)], whole.count("\n", 0, begin)


@functools.lru_cache(maxsize=1024)
def _cpus(value: str) -> CpuSet:
    # Threads by the thousand share a few sets.
    return cpulist.parse(value)

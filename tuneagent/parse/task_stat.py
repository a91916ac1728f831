"""/proc/PID/stat and /proc/PID/task/TID/stat (fs/proc/array.c do_task_stat(), proc_pid_stat(5))."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import U32_MAX, U64_MAX, empty, natural, shown

_MOST_CHARACTERS = 4096
_PARENT = 1
_ENDED = frozenset("ZXx")
_START = 19
_PROCESSOR = 36
"""Places behind the name: fields 22 and 39, where the state, the first, is field 3."""


@dataclass(frozen=True, slots=True)
class TaskStat:
    """What of a task's line is of use here."""

    name: str
    """comm, between the first bracket and the last: it may hold blanks and brackets itself."""
    parent: int
    """The process that it is a child of: 2 (kthreadd) for a kernel thread."""
    cpu: int | None
    """Where it ran last; None where the line ends before that field."""
    start_ticks: int | None = None
    """When it began, in ticks since the boot: with its number it means this task and no later one."""
    ended: bool = False
    """Whether it is over and only waits for its parent to ask how (a zombie, or dead)."""


def parse(text: str) -> TaskStat:
    """A task's line; ParseError where it is none, EMPTY for an empty text."""
    if not text or text.isspace():
        raise empty()
    head, first, rest = text.partition(" (")
    name, last, tail = rest.rpartition(")")
    fields = tail.split()
    if not (first and last and head.isdecimal()) or len(fields) <= _PARENT or len(text) > _MOST_CHARACTERS:
        raise ParseError(f"{shown(text.strip())} is not a task's line", 1)
    cpu = natural(fields[_PROCESSOR], 1, MAX_CPUS - 1) if len(fields) > _PROCESSOR else None
    start = natural(fields[_START], 1, U64_MAX) if len(fields) > _START else None
    return TaskStat(name, natural(fields[_PARENT], 1, U32_MAX), cpu, start, fields[0] in _ENDED)

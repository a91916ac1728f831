"""Processes by the name the kernel has for them: /proc/PID/comm (proc(5))."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.machine.source import Process, Source
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

PROC = "/proc"
INIT = "1"
MAX_PID_DIGITS = 10


def running(source: Source, names: frozenset[str], remedy: str | None) -> tuple[Process, ...]:
    """Those of the running machine. SourceError with PERMISSION where hidepid hides what is not ours."""
    return chosen(source, listing(source, remedy), names)


def listing(source: Source, remedy: str | None) -> tuple[tuple[str, str], ...]:
    """Pid and comm of every process of the running machine. SourceError as of running()."""
    pids = _pids(source)
    if INIT not in pids:
        # hidepid=2 leaves out the processes of others; process 1 is there in every pid namespace.
        raise SourceError(PROC, Reason.PERMISSION, "processes of other users are hidden (hidepid)", remedy)
    return tuple((pid, name) for pid in pids if (name := _name(source, pid)) is not None)


def chosen(source: Source, listed: Iterable[tuple[str, str]], names: frozenset[str]) -> tuple[Process, ...]:
    """Of those listed, the ones with these names, and what they were started with."""
    return tuple(Process(int(pid), name, _command(source, pid)) for pid, name in listed if name in names)


def captured(source: Source, names: frozenset[str]) -> tuple[Process, ...]:
    """Those of a captured tree. SourceError with NOT_CAPTURED where it holds no process."""
    try:
        listed = [(pid, name) for pid in _pids(source) if (name := _name(source, pid)) is not None]
    except SourceError:
        listed = []
    if not listed:
        raise SourceError(PROC, Reason.NOT_CAPTURED, "not captured: the tree holds no process")
    return chosen(source, listed, names)


def _pids(source: Source) -> list[str]:
    return [name for name in source.names(PROC) if name.isascii() and name.isdecimal() and len(name) <= MAX_PID_DIGITS]


def _name(source: Source, pid: str) -> str | None:
    """None for a process that has ended since the listing."""
    try:
        return source.read(f"{PROC}/{pid}/comm").text.removesuffix("\n")
    except SourceError as error:
        if error.reason is Reason.PERMISSION:  # hidepid=1: others' directories are seen and closed
            raise
        return None


def _command(source: Source, pid: str) -> tuple[str, ...]:
    """Nothing for a kernel's thread, and for a process that has ended since the listing."""
    try:
        line = source.read(f"{PROC}/{pid}/cmdline").text
    except SourceError:
        line = ""
    return tuple(line.removesuffix("\0").split("\0")) if line else ()

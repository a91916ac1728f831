"""Processes of one load: forked, pinned, ended with their parent, and accounted for."""

from __future__ import annotations

import ctypes
import os
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

from tuneagent.load.errors import LoadError

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29
_TIMER_SLACK_NS = 1000
_CPUCLOCK_SCHED = 2
_FIELD_PROCESSOR = 36
"""Of /proc/PID/stat, counted behind the name (proc_pid_stat(5), field 39)."""


def start(work: Callable[[], None]) -> int:
    """The pid of a process that does the work and ends, at the latest with us."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        die_with(parent)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches the whole group: the parent decides
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - a bug keeps its traceback, and a child must not return into the parent's code
        traceback.print_exc()
    finally:
        os._exit(code)


def die_with(parent: int) -> None:
    """The kernel kills this process when its parent ends (prctl(2), PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before
        os._exit(1)


def wake_on_time() -> None:
    """Timers of this thread may be 1 µs late, not 50 (prctl(2), PR_SET_TIMERSLACK)."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, _TIMER_SLACK_NS)


def end(pids: Sequence[int]) -> None:
    """Kill these children, and wait for them."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def ended(pids: Sequence[int]) -> bool:
    """Whether one of these children has ended; it stays to be waited for."""
    return any(os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) for pid in pids)


def cpu_ns(pid: int) -> int:
    """User and system time of a process, exact to the nanosecond.

    The number of a process's CPU clock is that of clock_getcpuclockid(3): include/linux/posix-timers.h.
    """
    return time.clock_gettime_ns(~pid << 3 | _CPUCLOCK_SCHED)


def last_cpu(pid: int) -> int | None:
    """The CPU that a process was last seen on; None once it is gone."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fields = os.read(descriptor, 4096).rpartition(b")")[2].split()
        return int(fields[_FIELD_PROCESSOR])
    except (OSError, IndexError, ValueError):
        return None
    finally:
        os.close(descriptor)


def pin(cpus: Sequence[int], place: int) -> None:
    """Lets this process, the n-th of its load, run on one of the CPUs only; nothing without any."""
    if cpus:
        os.sched_setaffinity(0, {cpus[place % len(cpus)]})


def pin_to_all(cpus: Sequence[int]) -> None:
    """Lets this process, and what it will start, run on these CPUs only; nothing without any."""
    if cpus:
        os.sched_setaffinity(0, cpus)


def check_pins(cpus: Sequence[int]) -> None:
    """LoadError where a process cannot be pinned to one of these CPUs: before there is one."""
    before = os.sched_getaffinity(0)
    try:
        for cpu in cpus:
            _check_pin(cpu)
    finally:
        os.sched_setaffinity(0, before)


def _check_pin(cpu: int) -> None:
    try:
        os.sched_setaffinity(0, {cpu})
    except (OSError, ValueError, OverflowError) as error:
        raise LoadError(f"CPU {cpu}: no process can be pinned to it ({_why(error)})") from error


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)

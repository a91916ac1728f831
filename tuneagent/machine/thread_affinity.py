"""Where a thread may run, read and written (sched_setaffinity(2)), and what makes sure that it is still that thread."""

from __future__ import annotations

import os

from tuneagent.model.cpuset import CpuSet

MOST_BYTES = 4096


def affinity(tid: int) -> CpuSet:
    """The CPUs that the thread may run on. OSError: ESRCH where it has ended."""
    return CpuSet.of(os.sched_getaffinity(tid))


def set_affinity(tid: int, cpus: CpuSet) -> None:
    """Moves the thread at once where it runs, else with its next wake-up.

    OSError: EINVAL where none of these CPUs is online and in the cpuset of its cgroup, else those that are not are
    left out without a word; EPERM, ESRCH. ``cpus`` is not empty, and ``tid`` is above 0, which would be this thread.
    """
    if tid <= 0 or not cpus:
        raise ValueError("neither thread 0 nor an empty set is meant by anybody")
    os.sched_setaffinity(tid, cpus)


def task_text(tid: int, name: str, process: int | None = None) -> str:
    """A file of the thread in /proc, such as ``stat``; with ``process`` only where it is a thread of that process.

    OSError where there is no such thread, also for one that ends meanwhile (ESRCH).
    """
    path = f"/proc/{tid}/{name}" if process is None else f"/proc/{process}/task/{tid}/{name}"
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(handle, MOST_BYTES).decode(errors="backslashreplace")
    finally:
        os.close(handle)

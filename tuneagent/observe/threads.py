"""The threads that serve virtual machines: QEMU's main thread, its vCPUs, and vhost's workers.

A vhost worker is called ``vhost-PID`` after the process that owns the device. To Linux 6.3 it is a kernel thread of its
own, since then a thread of that process; a module parameter brings the old way back (drivers/vhost/vhost.c). So both
places are looked at. All workers of one QEMU have the same name: which queue is whose is not told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.hypervisor import DomainThread, Hypervisor, ThreadRole
from tuneagent.model.missing import Reason
from tuneagent.observe.gaps import Gaps, integer
from tuneagent.parse import process_status, schedstat, task_stat

MOST_VCPU_THREADS = 1024
"""Read in one sample over all virtual machines, besides those of the machines that were asked for by name."""
FEW_THREADS = 512
"""Up to so many all are looked for, and the affinity of each is read, in every sample."""
KTHREADD = 2
"""Parent of all kernel threads (init/main.c, rest_init())."""

_MOST_NAME = 15
"""TASK_COMM_LEN without its NUL: longer names are cut."""
_MOST_TASKS = 8192
_VCPU = re.compile(r"CPU ([0-9]{1,5})/(?:KVM|TCG|HVF).*")
"""qemu_thread_create() names vCPUs so with debug-threads=on, which libvirt asks for."""
_VCPU_DIRECTORY = re.compile(r"vcpu([0-9]{1,5})")
_EVERY = 8
_TID = re.compile(r"[1-9][0-9]{0,9}")
_WORKER = "vhost-"
_USUAL = frozenset({Reason.ABSENT, Reason.NOT_CAPTURED, Reason.FAILED})
"""FAILED is ESRCH: it ended while its file was open."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task:
    """A thread and what it does, before its counters are read."""

    pid: int
    tid: int
    role: ThreadRole
    index: int | None = None
    kernel_thread: bool = False

    @property
    def path(self) -> str:
        """Its directory. That of a process has its main thread's CPU, times and affinity."""
        own = self.kernel_thread or self.role is ThreadRole.EMULATOR
        return f"/proc/{self.tid}" if own else f"/proc/{self.pid}/task/{self.tid}"


@dataclass(frozen=True, slots=True)
class Served:
    """What serves the virtual machines."""

    threads: tuple[DomainThread, ...]
    left_out: int
    """vCPU threads that were found and not read."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The processes to look at."""

    pids: frozenset[int]
    in_full: frozenset[int] = frozenset()
    """Those of them whose vCPU threads are all read."""
    directories: Mapping[int, str] = field(default_factory=dict)
    """KVM's directory in debugfs of each, for a process that does not name its threads."""


def observe(gaps: Gaps, wanted: Wanted, known: Hypervisor | None = None) -> Served:
    """The threads of these processes, by process. What ends while it is looked at is left out.

    ``known`` is an earlier sample whose virtual machines have the same processes, vCPUs and interfaces: where it has
    many threads, they are read again and none are looked for. To list all tasks of a thousand processes costs more than
    all the rest of a sample.
    """
    if known is not None and len(known.threads) <= FEW_THREADS:
        known = None
    if known is None or {thread.pid for thread in known.threads} != wanted.pids:
        tasks, left_out = _found(gaps, wanted)
    else:
        tasks, left_out = _known(gaps, wanted, known)
    reading = _Reading(gaps, known.threads if known is not None and len(tasks) > FEW_THREADS else ())
    return Served(tuple(one for task in tasks if (one := reading.thread(task)) is not None), left_out)


def again(gaps: Gaps, known: Iterable[DomainThread]) -> tuple[DomainThread, ...]:
    """These threads as they are now, without those that ended; none is looked for."""
    reading = _Reading(gaps, ())
    tasks = [Task(one.pid, one.tid, one.role, one.index, one.kernel_thread) for one in known]
    return tuple(one for task in tasks if (one := reading.thread(task)) is not None)


def _known(gaps: Gaps, wanted: Wanted, known: Hypervisor) -> tuple[list[Task], int]:
    tasks = [Task(one.pid, one.tid, one.role, one.index, one.kernel_thread) for one in known.threads]
    left_out = known.threads_left_out
    for pid in wanted.in_full if left_out else ():
        there = {task.tid for task in tasks if task.pid == pid}
        more = [task for task in _of_process(gaps, pid, wanted.directories.get(pid)) if task.tid not in there]
        tasks += more
        left_out -= sum(task.role is ThreadRole.VCPU for task in more)
    return tasks, max(0, left_out)


def _found(gaps: Gaps, wanted: Wanted) -> tuple[list[Task], int]:
    tasks: list[Task] = []
    room, left_out = MOST_VCPU_THREADS, 0
    for pid in sorted(wanted.pids):
        own = _of_process(gaps, pid, wanted.directories.get(pid))
        vcpus = [task for task in own if task.role is ThreadRole.VCPU]
        if pid not in wanted.in_full:
            left_out += max(0, len(vcpus) - room)
            vcpus = vcpus[:room]
            room -= len(vcpus)
        tasks += [task for task in own if task.role is not ThreadRole.VCPU]
        tasks += vcpus
    return tasks + _kernel_threads(gaps, wanted.pids), left_out


def _of_process(gaps: Gaps, pid: int, directory: str | None) -> list[Task]:
    try:
        names = gaps.source.names(f"/proc/{pid}/task")
    except SourceError:
        names = ()  # it ended, or the tree was captured without: the process itself is there
    found = [Task(pid, pid, ThreadRole.EMULATOR)]
    for name in islice(names, _MOST_TASKS):
        if _TID.fullmatch(name) and int(name) != pid:
            task = _task(pid, int(name), _comm(gaps, f"/proc/{pid}/task/{name}"))
            found += [task] if task else []
    if directory is not None and all(task.role is not ThreadRole.VCPU for task in found):
        found += _by_debugfs(gaps, pid, directory)
    return sorted(found, key=lambda task: (task.role, task.index or 0, task.tid))


def _comm(gaps: Gaps, path: str) -> str | None:
    try:
        return gaps.source.read(f"{path}/comm").text.removesuffix("\n")
    except SourceError:
        return None


def _task(pid: int, tid: int, name: str | None) -> Task | None:
    if name is None:
        return None
    if name.startswith(_WORKER):
        return Task(pid, tid, ThreadRole.VHOST)
    vcpu = _VCPU.fullmatch(name)
    return Task(pid, tid, ThreadRole.VCPU, int(vcpu[1])) if vcpu else None


def _by_debugfs(gaps: Gaps, pid: int, directory: str) -> list[Task]:
    """Threads of vCPUs as KVM names them: ``vcpuN/pid`` (virt/kvm/kvm_main.c, kvm_create_vcpu_debugfs())."""
    found: list[Task] = []
    try:
        for name in gaps.source.names(directory):
            match = _VCPU_DIRECTORY.fullmatch(name)
            if match:
                tid = integer(gaps.source.read(f"{directory}/{name}/pid").text, 1)
                found.append(Task(pid, tid, ThreadRole.VCPU, int(match[1])))
    except (SourceError, ParseError):
        return found  # closed by lockdown, or from before Linux 5.18: then they have no name anywhere
    return found


def _kernel_threads(gaps: Gaps, pids: Iterable[int]) -> list[Task]:
    owners = {f"{_WORKER}{pid}"[:_MOST_NAME]: pid for pid in pids}
    try:
        processes = gaps.source.processes(frozenset(owners)) if owners else ()
    except SourceError:
        return []  # a tree without processes: those in hand were told by another source
    return [
        Task(owners[one.name], one.pid, ThreadRole.VHOST, None, kernel_thread=True)
        for one in processes
        if one.name in owners and not one.command
    ]


class _Reading:
    """Reads threads by the thousand, and notes a fault of a kind once."""

    def __init__(self, gaps: Gaps, known: Iterable[DomainThread]) -> None:
        self._gaps = gaps
        self._known = {(one.pid, one.tid): one for one in known}
        self._noted: set[str] = set()

    def thread(self, task: Task) -> DomainThread | None:
        """A thread as it is now; None where it is gone, or another has its number."""
        path = task.path
        stat = self._parsed(f"{path}/stat", task_stat.parse)
        if stat is None and _comm(self._gaps, path) is None:
            return None
        if stat is not None and not _is_still(task, stat[0]):
            return None
        times = self._parsed(f"{path}/schedstat", schedstat.parse)
        cpu = stat[0].cpu if stat else None
        return DomainThread(
            pid=task.pid,
            tid=task.tid,
            role=task.role,
            index=task.index,
            kernel_thread=task.kernel_thread,
            affinity=self._affinity(task, path, cpu),
            cpu=cpu,
            run_ns=times[0][0] if times else None,
            wait_ns=times[0][1] if times else None,
            read_at_ns=times[1] if times else stat[1] if stat else None,
        )

    def _affinity(self, task: Task, path: str, cpu: int | None) -> CpuSet | None:
        """Where it may run. The dearest of its files, and of a thread that stayed where it was it seldom differs.

        So where there are thousands, it is read of those that moved, and of every eighth besides, another eighth every
        second, so that none is long unseen.
        """
        known = self._known.get((task.pid, task.tid))
        if known is not None and known.affinity is not None and known.cpu == cpu and not self._is_due(task, known):
            return known.affinity
        found = self._parsed(f"{path}/status", process_status.parse)
        return found[0] if found else None

    @staticmethod
    def _is_due(task: Task, known: DomainThread) -> bool:
        seconds = (known.read_at_ns or 0) // 10**9
        return (task.tid + seconds) % _EVERY == 0

    def _parsed(self, path: str, parse: Callable[[str], T]) -> tuple[T, int | None] | None:
        try:
            text = self._gaps.source.read(path)
            return parse(text.text), text.read_at_ns
        except SourceError as error:
            # Absent is a thread that ended, a kernel without schedstat, or a tree that has only a part.
            if error.reason not in _USUAL:
                self._note(path, error.reason, error.detail, error.remedy)
        except ParseError as error:
            self._note(path, error.reason, error.detail)
        return None

    def _note(self, path: str, reason: Reason, detail: str, remedy: str | None = None) -> None:
        kind = path.rsplit("/", 1)[-1]
        if kind not in self._noted:
            self._noted.add(kind)
            self._gaps.note(f"hypervisor.threads.{kind}", path, reason, detail, remedy)


def _is_still(task: Task, stat: task_stat.TaskStat) -> bool:
    if task.role is not ThreadRole.VHOST:
        return True
    return stat.name.startswith(_WORKER) and (not task.kernel_thread or stat.parent == KTHREADD)

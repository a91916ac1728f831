"""VHOST_AFFINITY: the CPUs that a vhost worker may run on, of a kernel thread or of a thread of QEMU."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.domain_target import uuid_of
from tuneagent.apply.machine import Machine
from tuneagent.machine import thread_affinity
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.hypervisor import QEMU_NAMES
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts
from tuneagent.parse import cpulist, qemu_command, schedstat, task_stat
from tuneagent.parse.task_stat import TaskStat

KTHREADD = 2
"""Parent of all kernel threads (init/main.c, rest_init())."""
MOST_PID = 1 << 22
"""PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h)."""
_WORKER = re.compile(r"vhost-([1-9][0-9]{0,6})")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Worker:
    """One vhost worker, as it is now."""

    tid: int
    process: int | None
    """QEMU's process where it is a thread of that; None for a kernel thread."""
    start_ticks: int


class VhostAffinity(Defaults):
    """sched_setaffinity(2) of one thread. It ends with the thread, and so with the virtual machine."""

    kinds = (TunableKind.VHOST_AFFINITY,)
    lasts = Lasts.THREAD

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - there is one kind
        """The worker with the target's number, if it still is that thread and works for that virtual machine."""
        if not self._machine.live:
            raise Refusal(Why.FACT, "threads are those of a running machine, and this is a tree of files")
        tid = _number(target.tid)
        own = _stat(tid)
        if own.start_ticks is None:
            raise Refusal(Why.FACT, f"/proc/{tid}/stat does not tell when the thread began")
        if target.start_ticks is not None and target.start_ticks != own.start_ticks:
            raise Refusal(Why.GONE, f"thread {tid} ended, and another has its number")
        owner = self._owner(tid, own, target)
        kernel_thread = own.parent == KTHREADD
        if target.kernel_thread is not None and target.kernel_thread != kernel_thread:
            raise Refusal(Why.GONE, f"thread {tid} is another kind of vhost worker than the one that was meant")
        worker = Worker(tid, None if kernel_thread else owner, own.start_ticks)
        if not kernel_thread:
            _text_of(worker, "stat", str)  # only its own process has it there
        whose = f"libvirt domain {target.domain_uuid}" if target.domain_uuid else f"QEMU process {owner}"
        where = f"{whose}: CPU affinity of its vhost worker {tid}"
        return Place(where, replace(target, tid=tid, start_ticks=own.start_ticks, kernel_thread=kernel_thread), worker)

    def read(self, place: Place) -> str:
        """The CPUs as the kernel lists them."""
        return str(_asked(place.handle, thread_affinity.affinity))

    def check(self, place: Place, value: str) -> str | None:  # noqa: ARG002 - the same of every thread
        """Whether it names CPUs."""
        try:
            return None if cpulist.parse(value) else "a thread must have a CPU"
        except ParseError as error:
            return f"no set of CPUs: {error.detail}"

    def write(self, place: Place, value: str) -> None:
        """Sets it if that is still the same thread."""
        worker, cpus = place.handle, cpulist.parse(value)
        before = _asked(worker, thread_affinity.affinity)
        _set(worker, cpus)
        left = _asked(worker, thread_affinity.affinity)
        if left != cpus:
            _set(worker, before)  # the kernel leaves out what the cpuset does not allow, and says nothing
            raise Refusal(Why.FACT, f"of CPUs {cpus} it may have {left} only: {_bounds(worker)}", _remedy(worker))

    def same(self, one: str, other: str) -> bool:
        """Whether both name the same CPUs."""
        try:
            return cpulist.parse(one) == cpulist.parse(other)
        except ParseError:
            return one == other

    def mark(self, place: Place) -> int | None:
        """How long it has run so far, in ns."""
        return _run_ns(place.handle)

    def effect(self, place: Place, value: str, mark: int | None) -> Seen:
        """Where it ran since: only a thread that has work moves."""
        worker, cpus = place.handle, cpulist.parse(value)
        allowed = _asked(worker, thread_affinity.affinity)
        if allowed != cpus:
            return Seen(Effect.CONTRADICTED, f"thread {worker.tid} may run on CPUs {allowed}")
        cpu, run_ns = _text_of(worker, "stat", task_stat.parse).cpu, _run_ns(worker)
        if mark is None or run_ns is None or run_ns <= mark:
            return Seen(Effect.NOT_YET, f"thread {worker.tid} has not run since")
        if cpu is None or cpu not in cpus:  # it may have run between the look before and the write
            return Seen(Effect.NOT_YET, f"thread {worker.tid} has not run on CPUs {cpus} yet")
        return Seen(Effect.VERIFIED, f"thread {worker.tid} ran on CPU {cpu}")

    def by_hand(self, place: Place, value: str) -> str:
        """taskset(1)."""
        return f"taskset -pc {cpulist.parse(value)} {place.handle.tid}"

    def _owner(self, tid: int, own: TaskStat, target: Target) -> int:
        """QEMU's process that the worker is called after."""
        match = _WORKER.fullmatch(own.name)
        if match is None:
            raise Refusal(Why.GONE, f"thread {tid} is no vhost worker")
        pid = int(match[1])
        uuid = uuid_of(target) if target.domain_uuid is not None else None
        try:
            processes = self._machine.source.processes(QEMU_NAMES)
        except SourceError as error:
            raise Refusal(Why.FAILED, str(error), error.remedy) from error
        command = next((one.command for one in processes if one.pid == pid), None)
        if command is None or (uuid is not None and qemu_command.parse(command).uuid != uuid):
            whose = f"the virtual machine {uuid}" if uuid else "a virtual machine"
            raise Refusal(Why.GONE, f"thread {tid} is no vhost worker of {whose}")
        return pid


def _set(worker: Worker, cpus: CpuSet) -> None:
    _asked(worker, lambda tid: thread_affinity.set_affinity(tid, cpus), cpus)


def _refused(worker: Worker, cpus: CpuSet | None, error: OSError) -> Refusal:
    if error.errno == errno.EINVAL and cpus is not None:
        return Refusal(Why.FACT, f"it may have none of CPUs {cpus}: {_bounds(worker)}", _remedy(worker))
    what = f"the affinity of thread {worker.tid}: {error.strerror}"
    if error.errno in {errno.EPERM, errno.EACCES}:
        return Refusal(Why.FORBIDDEN, what, "run as root, with CAP_SYS_NICE")
    return Refusal(Why.GONE if error.errno == errno.ESRCH else Why.FAILED, what)


def _bounds(worker: Worker) -> str:
    return f"they are offline, or the cpuset of its cgroup (/proc/{worker.tid}/cgroup) leaves them out"


def _remedy(worker: Worker) -> str | None:
    return None if worker.process is None else "it is a thread of QEMU: `virsh emulatorpin` moves that cpuset first"


def _number(tid: int | None) -> int:
    if tid is None or not 0 < tid <= MOST_PID:
        raise Refusal(Why.GONE, "which thread is meant is not told")
    return tid


def _asked(worker: Worker, question: Callable[[int], T], cpus: CpuSet | None = None) -> T:
    """The answer about this thread, and no other that has its number since."""
    if _text_of(worker, "stat", task_stat.parse).start_ticks != worker.start_ticks:
        raise Refusal(Why.GONE, f"thread {worker.tid} ended, and another has its number")
    try:
        return question(worker.tid)
    except OSError as error:
        raise _refused(worker, cpus, error) from error


def _stat(tid: int) -> TaskStat:
    return _parsed(tid, None, "stat", task_stat.parse)


def _text_of(worker: Worker, name: str, parse: Callable[[str], T]) -> T:
    return _parsed(worker.tid, worker.process, name, parse)


def _parsed(tid: int, process: int | None, name: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(thread_affinity.task_text(tid, name, process))
    except (FileNotFoundError, ProcessLookupError) as error:
        raise _ended(tid) from error
    except OSError as error:
        raise Refusal(Why.FAILED, f"/proc/{tid}/{name}: {error.strerror}") from error
    except ParseError as error:
        raise Refusal(Why.FAILED, f"/proc/{tid}/{name}: {error}") from error


def _ended(tid: int) -> Refusal:
    return Refusal(Why.GONE, f"thread {tid} has ended")


def _run_ns(worker: Worker) -> int | None:
    """None where the kernel does not count it."""
    try:
        return _text_of(worker, "schedstat", schedstat.parse)[0]
    except Refusal:
        return None

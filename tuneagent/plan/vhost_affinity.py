"""vhost-affinity: vhost workers run near the memory they copy to and off the CPUs of pinned vCPUs."""

from __future__ import annotations

import shlex

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain_view import DomainView
from tuneagent.model.hypervisor import DomainThread, ThreadRole
from tuneagent.model.plan import Change, Declined, Target, TunableKind
from tuneagent.plan.domain_interface import domain_uuid, uri_of
from tuneagent.plan.host_cpus import room
from tuneagent.plan.situation import Situation, Solution, text_of

_NUMBERS = (
    "thread numbers are those of now: workers end with their device and come anew at each start, which ends this too"
)
_TASKS = (
    "the workers are threads of QEMU, in its emulator's cpuset: `virsh emulatorpin` (emulator-pin) places all of them "
    "at once and lasts; this is for placing the workers apart from the emulator"
)
_KERNEL_THREADS = (
    "the workers are kernel threads: `virsh emulatorpin` moves them too where they are in QEMU's control group"
)


def solve(situation: Situation) -> Solution | Declined:
    """sched_setaffinity(2) of each worker, by taskset(1)."""
    domain = situation.domain
    if domain is None:
        return situation.declined("which virtual machine it is about is not known here; run it on the hypervisor")
    workers = tuple(one.thread for one in domain.of_role(ThreadRole.VHOST))
    if not workers:
        return situation.declined("no vhost worker of it was seen")
    found = room(situation, domain)
    if isinstance(found, str):
        return situation.declined(found)
    changes, notes = [], [_NUMBERS, *found.notes]
    for worker in workers:
        cpus = found.cpus if worker.kernel_thread else _within_bound(domain, found.cpus)
        if found.suits(worker.affinity):
            continue
        if cpus:
            changes.append(_change(situation, worker, cpus))
        else:
            notes.append(_bound_away(domain))
    if not changes:
        return situation.declined(notes[-1] if _bound_away(domain) in notes else _already(workers))
    return Solution(tuple(changes), tuple(dict.fromkeys((*_era(workers), *notes))))


def _already(workers: tuple[DomainThread, ...]) -> str:
    cpus = CpuSet.of(cpu for one in workers for cpu in one.affinity or CpuSet())
    return f"already so: its vhost workers may run on CPUs {cpus}, which no pinned vCPU has"


def _bound(domain: DomainView) -> CpuSet | None:
    """The CPUs that libvirt's cpuset leaves to threads of QEMU; None where nothing is bound."""
    definition = domain.definition
    return (definition.emulator_pin or definition.vcpu_cpus) if definition is not None else None


def _within_bound(domain: DomainView, cpus: CpuSet) -> CpuSet:
    bound = _bound(domain)
    return cpus if bound is None else cpus & bound


def _bound_away(domain: DomainView) -> str:
    return (
        f"its workers are threads of QEMU, bound to the emulator's CPUs {_bound(domain)}, none of which is free: "
        "`virsh emulatorpin` (emulator-pin) must move them"
    )


def _era(workers: tuple[DomainThread, ...]) -> tuple[str, ...]:
    kinds = {one.kernel_thread for one in workers}
    return (*((_TASKS,) if False in kinds else ()), *((_KERNEL_THREADS,) if True in kinds else ()))


def _change(situation: Situation, worker: DomainThread, cpus: CpuSet) -> Change:
    uuid = domain_uuid(situation)
    old = text_of(worker.affinity) or None
    owner = f"libvirt domain {uuid}" if uuid is not None else f"QEMU process {worker.pid}"
    return Change(
        kind=TunableKind.VHOST_AFFINITY,
        target=Target(
            domain_uuid=uuid,
            thread_role=str(ThreadRole.VHOST),
            kernel_thread=worker.kernel_thread,
            tid=worker.tid,
            uri=uri_of(situation),
        ),
        where=f"{owner}: CPU affinity of its vhost worker {worker.tid}",
        old=old,
        new=str(cpus),
        why="a worker that shares a CPU with a vCPU makes both wait, and one on another node copies across",
        do=_taskset(str(cpus), worker.tid),
        undo=_taskset(old, worker.tid) if old else None,
    )


def _taskset(cpus: str, tid: int) -> str:
    return shlex.join(("taskset", "-pc", cpus, str(tid)))

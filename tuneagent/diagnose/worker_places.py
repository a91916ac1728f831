"""Where vhost workers run or may run, against the vCPUs that are busy there and the memory that they copy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tuneagent.diagnose.domains import name_of, running
from tuneagent.diagnose.thresholds import BUSY_THREAD_PERCENT
from tuneagent.model.cpuset import MAX_CPUS, CpuSet
from tuneagent.model.domain_view import DomainView, ThreadRate
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View


@dataclass(frozen=True, slots=True)
class Held:
    """Host CPUs that busy vCPUs hold."""

    cpus: CpuSet
    holders: dict[int, tuple[DomainView, ThreadRate]]
    """CPU → the virtual machine and the vCPU that holds it."""

    def holder(self, cpu: int) -> str:
        """The busy vCPU of a CPU in a sentence."""
        domain, vcpu = self.holders[cpu]
        return f"vCPU {vcpu.thread.index} of {name_of(domain)}"


def busy_vcpus(view: View) -> Held:
    """Host CPUs that a busy vCPU holds, with whose it is: it is pinned there alone, or was there at both samples."""
    held: dict[int, tuple[DomainView, ThreadRate]] = {}
    for domain in running(view):
        for one in domain.threads:
            if one.thread.role is ThreadRole.VCPU and (one.cpu_percent or 0.0) >= BUSY_THREAD_PERCENT:
                for cpu in _held(one):
                    held.setdefault(cpu, (domain, one))
    return Held(CpuSet.of(cpu for cpu in held if cpu < MAX_CPUS), held)


def _held(vcpu: ThreadRate) -> Iterable[int]:
    affinity = vcpu.thread.affinity
    if affinity is not None and len(affinity) == 1:
        return affinity
    return () if vcpu.moved or vcpu.thread.cpu is None else (vcpu.thread.cpu,)


def shared_cpu(worker: ThreadRate, held: Held) -> int | None:
    """A CPU of a busy vCPU that the worker cannot get away from, or stayed on; None where it has one for itself."""
    affinity = worker.thread.affinity
    if affinity is not None and affinity and affinity <= held.cpus:
        cpu = worker.thread.cpu
        return cpu if cpu is not None and cpu in affinity else next(iter(affinity))
    if worker.moved or worker.thread.cpu is None:
        return None
    return worker.thread.cpu if worker.thread.cpu in held.cpus else None


def memory_cpus(view: View, domain: DomainView) -> CpuSet | None:
    """Host CPUs of the nodes that the definition takes its memory from; None where it does not say, or one node is."""
    topology, definition = view.after.cpus, domain.definition
    if topology is None or len(topology.nodes) < 2 or definition is None or definition.memory_nodes is None:  # noqa: PLR2004  # one node is no choice
        return None
    return _cpus_of(topology.nodes, definition.memory_nodes)


def nic_cpus(view: View, domain: DomainView) -> CpuSet | None:
    """Host CPUs of the node of the NICs below the bridges of its taps; None where no or several nodes are."""
    topology = view.after.cpus
    if topology is None or len(topology.nodes) < 2:  # noqa: PLR2004  # one node is no choice
        return None
    bridges = {tap.tap.master for tap in domain.taps if tap.tap.master is not None}
    nodes = {nic.node for nic in view.after.nics or () if nic.node is not None and bridges.intersection(nic.upper)}
    return _cpus_of(topology.nodes, nodes) if len(nodes) == 1 else None


def _cpus_of(by_node: dict[int, CpuSet], nodes: Iterable[int]) -> CpuSet | None:
    cpus = CpuSet()
    for node in nodes:
        cpus |= by_node.get(node, CpuSet())
    return cpus or None


def is_away(worker: ThreadRate, near: CpuSet | None) -> bool:
    """Whether it may run nowhere near, or stayed elsewhere."""
    thread = worker.thread
    if near is None:
        return False
    if thread.affinity is not None and thread.affinity:
        if not thread.affinity & near:
            return True
        if thread.affinity <= near:
            return False
    return not worker.moved and thread.cpu is not None and thread.cpu not in near

"""Which CPUs of the host the threads beside the vCPUs may have: emulators and vhost workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tuneagent.model.cpuset import MAX_CPUS, CpuSet
from tuneagent.model.domain_view import DomainView, ThreadRate
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.topology import CpuTopology
from tuneagent.plan.situation import Situation

BUSY_PERCENT = 50.0
"""Of a CPU: a vCPU that runs more than this leaves too little of its CPU to anything else."""


@dataclass(frozen=True, slots=True)
class Room:
    """CPUs for a virtual machine's helpers, and what is to be said of the choice."""

    cpus: CpuSet
    """Never empty."""
    good: CpuSet
    """Where a helper may be already and is well placed: set apart or not, near its memory, and no vCPU's."""
    busy: CpuSet
    notes: tuple[str, ...]

    def suits(self, cpus: CpuSet | None) -> bool:
        """Whether a helper that may run on these CPUs can stay so: all are good, and not on each is a busy vCPU."""
        return bool(cpus) and cpus is not None and cpus <= self.good and bool(cpus - self.busy)


def occupied(topology: CpuTopology, domains: Iterable[DomainView]) -> tuple[CpuSet, CpuSet]:
    """CPUs that vCPUs have by a pin, and those on which an unpinned vCPU is busy now. Linear in the threads.

    A pin that leaves a whole NUMA node open takes nothing away: it is a choice of the node.
    """
    wide = _wholes(topology)
    taken = busy = 0
    for domain in domains:
        for pin in _pins(domain):
            taken |= pin.bits if _is_narrow(pin, wide) else 0
        for rate in domain.of_role(ThreadRole.VCPU):
            affinity = rate.thread.affinity
            if affinity and _is_narrow(affinity, wide):
                taken |= affinity.bits
            elif _is_busy(rate):
                busy |= CpuSet.of([rate.thread.cpu or 0]).bits
    return CpuSet(taken) & topology.online, CpuSet(busy)


def _is_busy(rate: ThreadRate) -> bool:
    cpu = rate.thread.cpu
    return cpu is not None and 0 <= cpu < MAX_CPUS and rate.cpu_percent is not None and rate.cpu_percent > BUSY_PERCENT


def room(situation: Situation, domain: DomainView) -> Room | str:
    """Housekeeping CPUs of the node where its memory is that no vCPU has; or why there are none.

    Isolated and nohz_full CPUs are left to whom they were set apart for, and no set is ever empty.
    """
    topology = situation.cpus
    if topology is None or not topology.online:
        return "which CPUs there are is not known"
    usable = topology.online - topology.isolated - topology.nohz_full
    if not usable:
        return "all CPUs are isolated or nohz_full: none is left for helpers"
    node = _near(situation, topology, domain) & topology.online or topology.online
    if not usable - node and not situation.taken:
        return "no vCPU here is pinned: nothing keeps vCPUs off the CPUs that its helpers would get; pin vCPUs first"
    return _choose(situation, usable, node, topology.online)


def _choose(situation: Situation, usable: CpuSet, node: CpuSet, online: CpuSet) -> Room | str:
    free = usable - situation.taken
    if not free:
        return "every CPU that is not set apart has a pinned vCPU: free one by that vCPU's pin first"
    near = free & node
    at = near or free
    avoided = online - usable
    notes = [f"CPUs {avoided} are isolated or nohz_full and are left alone"] if avoided else []
    if not near:
        notes.append(f"near its memory every CPU has a pinned vCPU or is set apart (CPUs {node}): these are farther")
    return Room(at - situation.busy or at, (node if near else online) - situation.taken, situation.busy, tuple(notes))


def _near(situation: Situation, topology: CpuTopology, domain: DomainView) -> CpuSet:
    """CPUs of the nodes that its memory is bound to, else of those its vCPUs are pinned to, else of the NICs' node."""
    definition = domain.definition
    nodes = set(definition.memory_nodes) if definition is not None and definition.memory_nodes else set()
    if not nodes:
        affinities = (rate.thread.affinity for rate in domain.of_role(ThreadRole.VCPU))
        where = CpuSet(_union((*_pins(domain), *(one for one in affinities if one))))
        nodes = {node for node, cpus in topology.nodes.items() if cpus & where} if where else set()
    if not nodes:
        nics = situation.view.after.nics or ()
        own = {nic.node for nic in nics if nic.node is not None and nic.node >= 0}
        nodes = own if len(own) == 1 else set()
    return CpuSet(_union(topology.nodes.get(node, CpuSet()) for node in nodes))


def _union(sets: Iterable[CpuSet]) -> int:
    bits = 0
    for one in sets:
        bits |= one.bits
    return bits


def _pins(domain: DomainView) -> tuple[CpuSet, ...]:
    """What the definition gives the vCPUs: each pin, and the set of those without one."""
    definition = domain.definition
    if definition is None:
        return ()
    rest = definition.vcpu_cpus
    unpinned = rest is not None and len(definition.vcpu_pins) < (definition.vcpus or 1)
    return (*definition.vcpu_pins.values(), *((rest,) if rest is not None and unpinned else ()))


def _wholes(topology: CpuTopology) -> tuple[CpuSet, ...]:
    """The usable CPUs of each node, or of the machine without nodes: what holds one of these is no narrow pin."""
    usable = topology.online - topology.isolated - topology.nohz_full
    nodes = tuple(cpus & usable for cpus in topology.nodes.values())
    return tuple(cpus for cpus in nodes if cpus) or (usable or topology.online,)


def _is_narrow(pin: CpuSet, wide: tuple[CpuSet, ...]) -> bool:
    return len(pin) == 1 or not any(whole <= pin for whole in wide)

"""rps-spread: hand received packets to CPUs that take no receive interrupt, where queues are fewer than CPUs."""

from __future__ import annotations

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import QueueRole
from tuneagent.model.nic import Nic, RxQueue
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.model.topology import CpuTopology
from tuneagent.plan.placement import candidates
from tuneagent.plan.queue_homes import queue_homes
from tuneagent.plan.situation import Situation, Solution, echo, mask_of, nic_target, undo_echo


def solve(situation: Situation) -> Solution | Declined:
    """One rps_cpus a receive queue in use.

    Documentation/networking/scaling.rst: redundant where each CPU has a hardware queue; at a high interrupt rate the
    interrupting CPU is left out of the map, since it already does much work.
    """
    nic, topology = situation.nic, situation.cpus
    if nic is None or topology is None or not topology.online:
        return situation.declined("which CPUs there are is not known")
    if len(topology.online) == 1:
        return situation.declined("one CPU: there is no other CPU to hand packets to")
    targets = CpuSet.of(candidates(topology, nic.node)) - _interrupted(situation, nic, topology)
    if not targets:
        return situation.declined("every CPU that may take interrupts has a receive queue of its own already")
    used = set(nic.queues_in_use)
    queues = [queue for queue in nic.rx_queues if queue.index in used]
    notes = tuple(
        f"rx-{queue.index}: its map could not be read, so no undo line can be given"
        for queue in queues
        if queue.rps_cpus is None
    )
    return Solution(
        tuple(_change(nic, queue, targets, pinning=situation.pinning) for queue in queues if queue.rps_cpus != targets),
        notes,
    )


def _interrupted(situation: Situation, nic: Nic, topology: CpuTopology) -> CpuSet:
    """CPUs that take receive interrupts of this NIC: one vector or line for all queues interrupts one CPU."""
    shared = nic.irqs_of(QueueRole.SHARED_QUEUES, QueueRole.DEVICE)
    if not shared:
        return CpuSet.of(queue_homes(situation, nic, topology, QueueRole.INPUT).values())
    taken = CpuSet()
    for queue_irq in shared:
        line = situation.view.after.irq(queue_irq.irq)
        taken |= line.served_by if line is not None else CpuSet()
    return taken


def _change(nic: Nic, queue: RxQueue, cpus: CpuSet, *, pinning: bool) -> Change:
    path = f"/sys/class/net/{nic.name}/queues/rx-{queue.index}/rps_cpus"
    old = mask_of(queue.rps_cpus)
    after = " once they are pinned as advised" if pinning else ""
    return Change(
        kind=TunableKind.RPS_CPUS,
        target=nic_target(nic, queue.index, "rx"),
        where=path,
        old=old,
        new=cpus.mask(),
        why=f"queue {queue.index}: protocol work on CPUs that take no receive interrupt of {nic.name}{after}",
        do=echo(cpus.mask(), path),
        undo=undo_echo(old, path),
    )

"""xps-by-queue: each CPU transmits on one queue, whose interrupt comes back to it or to a CPU of its group."""

from __future__ import annotations

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import QueueRole
from tuneagent.model.nic import Nic, TxQueue
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.model.topology import CpuTopology
from tuneagent.plan.queue_homes import queue_homes
from tuneagent.plan.situation import Situation, Solution, echo, mask_of, nic_target, undo_echo


def solve(situation: Situation) -> Solution | Declined:
    """One xps_cpus a transmit queue in use (Documentation/networking/scaling.rst, "XPS")."""
    nic, topology = situation.nic, situation.cpus
    if nic is None or topology is None or not topology.online:
        return situation.declined("which CPUs there are is not known")
    if len(nic.queues_in_use) < 2:  # noqa: PLR2004 - one queue, nothing to select
        return situation.declined("one transmit queue: there is nothing to select, and the kernel keeps no map")
    if not situation.pinning and any(situation.view.moved(irq.irq) for irq in nic.data_irqs_in_use):
        return situation.declined("its interrupts moved within the interval; pin them before maps follow them")
    at_home = queue_homes(situation, nic, topology, QueueRole.OUTPUT)
    if _fair_already(nic, topology, at_home):
        after = " once they are pinned as advised" if situation.pinning else ""
        return situation.declined(
            f"already so: each queue has its share of the CPUs, and its interrupts go to one of them{after}"
        )
    maps = transmit_maps(topology, at_home)
    queues = [queue for queue in nic.tx_queues if queue.index in maps]
    notes = tuple(
        f"tx-{queue.index}: its map could not be read, so no undo line can be given"
        for queue in queues
        if queue.xps_cpus is None
    )
    return Solution(
        tuple(
            _change(nic, queue, maps[queue.index], at_home[queue.index])
            for queue in queues
            if queue.xps_cpus != maps[queue.index]
        ),
        notes,
    )


def _fair_already(nic: Nic, topology: CpuTopology, at_home: dict[int, int]) -> bool:
    """Whether the maps share out the online CPUs evenly, each once, as the driver does in neighbouring groups.

    Another cut that is as even gains nothing, and parts CPUs that share a cache (virtnet_set_affinity()).
    """
    maps = {queue.index: (queue.xps_cpus or CpuSet()) & topology.online for queue in nic.tx_queues}
    sizes = [len(maps.get(queue, CpuSet())) for queue in at_home]
    every = sorted(cpu for queue in at_home for cpu in maps.get(queue, CpuSet()))
    return (
        all(home in maps.get(queue, CpuSet()) for queue, home in at_home.items())
        and every == sorted(topology.online)
        and max(sizes) - min(sizes) <= 1
    )


def transmit_maps(topology: CpuTopology, at_home: dict[int, int]) -> dict[int, CpuSet]:
    """The CPUs that transmit on each queue: the CPU its interrupt comes to, and a fair share of the CPUs left over.

    Every online CPU is in a map, isolated ones too, for what runs there transmits as well. 2 queues on 4 CPUs give
    {0, 2} and {1, 3}.
    """
    queues = sorted(at_home)
    maps = {queue: {cpu} for queue, cpu in at_home.items()}
    taken = set(at_home.values())
    for position, cpu in enumerate(cpu for cpu in topology.online if cpu not in taken):
        maps[queues[position % len(queues)]].add(cpu)
    return {queue: CpuSet.of(cpus) for queue, cpus in maps.items()}


def _change(nic: Nic, queue: TxQueue, cpus: CpuSet, home: int) -> Change:
    path = f"/sys/class/net/{nic.name}/queues/tx-{queue.index}/xps_cpus"
    old = mask_of(queue.xps_cpus)
    return Change(
        kind=TunableKind.XPS_CPUS,
        target=nic_target(nic, queue.index, "tx"),
        where=path,
        old=old,
        new=cpus.mask(),
        why=f"queue {queue.index}: {_why(nic, queue, cpus, home)}",
        do=echo(cpus.mask(), path),
        undo=undo_echo(old, path),
    )


def _why(nic: Nic, queue: TxQueue, cpus: CpuSet, home: int) -> str:
    if queue.index not in nic.pairs():  # one vector for all queues, whose completions have one CPU
        return f"one of {len(nic.queues_in_use)}, for CPUs {cpus}"
    others = cpus - CpuSet.of([home])
    named = f"CPU {others}" if len(others) == 1 else f"CPUs {others}"
    too = f", and {named} send{'s' if len(others) == 1 else ''} through it too" if others else ""
    return f"its completions come back to CPU {home}{too}"

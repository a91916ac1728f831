"""Where queue pairs' interrupts belong: one CPU a pair, the same answer for the same machine every time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.nic import Nic
from tuneagent.model.topology import CpuTopology


def candidates(topology: CpuTopology, node: int | None = None) -> tuple[int, ...]:
    """CPUs that interrupts may go to, best first.

    Only housekeeping CPUs. Those of ``node`` come first, for a packet's memory is there; a node that is None (the
    kernel's -1, usual in a VM) or unknown is no locality. Of each core the first thread comes before any second one,
    because siblings share the core's execution units and two busy queues would share them too.
    """
    near = topology.nodes.get(node, CpuSet()) if node is not None else CpuSet()
    rank = _thread_rank(topology)
    return tuple(sorted(topology.housekeeping, key=lambda cpu: (cpu not in near, rank.get(cpu, 0), cpu)))


def place(topology: CpuTopology, nics: Iterable[Nic]) -> dict[str, dict[int, int]]:
    """For each NIC by name, the CPU of each queue pair in use that has an interrupt of its own.

    Queue n gets the n-th candidate and wraps where queues outnumber CPUs: 4 queues on CPUs 0-2 go to 0, 1, 2, 0. The
    next NIC takes the CPUs that have the fewest pairs so far, so that two single-queue NICs do not meet on CPU 0 while
    others are free. NICs come in the order of their bus addresses, which a rename does not change. Whether a pair is
    well placed already is not asked: an answer that follows the present state would differ from run to run.
    """
    load: dict[int, int] = {}
    placed: dict[str, dict[int, int]] = {}
    for nic in sorted(nics, key=lambda nic: (nic.bus_address or "", nic.ifindex or 0, nic.name)):
        order = candidates(topology, nic.node)
        placed[nic.name] = _place_one(sorted(nic.pairs_in_use()), order, load)
    return placed


def _place_one(queues: Iterable[int], order: tuple[int, ...], load: dict[int, int]) -> dict[int, int]:
    chosen: dict[int, int] = {}
    if not order:
        return chosen
    for queue in queues:
        cpu = min(order, key=lambda cpu: load.get(cpu, 0))
        load[cpu] = load.get(cpu, 0) + 1
        chosen[queue] = cpu
    return chosen


def homes(topology: CpuTopology, nics: Iterable[Nic], nic: Nic, present: Mapping[int, int]) -> dict[int, int]:
    """The CPU at which each queue pair in use of ``nic`` is at home, for maps that follow the interrupts.

    ``present`` says where interrupts are now. It counts when every queue has a CPU and no two share one; otherwise
    the placement is what the machine should come to.
    """
    queues = nic.queues_in_use
    if all(queue in present for queue in queues) and len({present[queue] for queue in queues}) == len(queues):
        return {queue: present[queue] for queue in queues}
    placed = place(topology, nics)[nic.name]
    order = candidates(topology, nic.node)
    return {queue: placed.get(queue, order[queue % len(order)]) for queue in queues} if order else {}


def _thread_rank(topology: CpuTopology) -> dict[int, int]:
    """Position of each CPU among the housekeeping threads of its core."""
    return {cpu: position for core in topology.cores for position, cpu in enumerate(core & topology.housekeeping)}

"""The CPU at which each queue of a NIC is at home, for the maps (XPS, RPS) that follow the interrupts."""

from __future__ import annotations

from tuneagent.model.irq import QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.topology import CpuTopology
from tuneagent.plan.placement import homes
from tuneagent.plan.situation import Situation


def queue_homes(situation: Situation, nic: Nic, topology: CpuTopology, role: QueueRole) -> dict[int, int]:
    """CPU by queue pair index.

    When the same plan pins this NIC, interrupts will be where the placement puts them, and maps made for where they are
    now would be wrong as soon as both are applied. Otherwise somebody may have pinned them well in another order, and
    the maps follow that.
    """
    present = {} if situation.pinning else _present(situation, nic, role)
    return homes(topology, situation.view.after.virtio_nics, nic, present)


def _present(situation: Situation, nic: Nic, role: QueueRole) -> dict[int, int]:
    present: dict[int, int] = {}
    for queue_irq in nic.irqs_of(role):
        line = situation.view.after.irq(queue_irq.irq)
        where = line.served_by if line is not None else ()
        if queue_irq.queue is not None and len(where) == 1:
            present[queue_irq.queue] = next(iter(where))
    return present

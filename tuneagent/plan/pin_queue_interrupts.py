"""pin-queue-interrupts: input.N and output.N of each queue pair to one CPU, another CPU for each pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import IrqLine, QueueIrq, QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.model.topology import CpuTopology
from tuneagent.plan.mover import moved_by_another
from tuneagent.plan.placement import place
from tuneagent.plan.situation import Situation, Solution, echo, nic_target, text_of, undo_echo

MOST_ELSEWHERE = 8
"""CPUs to try where there is no vector left; with so many full ones the next is no better."""
_SERVES = {QueueRole.INPUT: "receives", QueueRole.OUTPUT: "completes transmits"}


def solve(situation: Situation) -> Solution | Declined:
    """A write for each queue interrupt not yet at its CPU (Documentation/core-api/irq/irq-affinity.rst)."""
    nic, topology = situation.nic, situation.cpus
    if nic is None or topology is None or not topology.online:
        return situation.declined("which CPUs there are is not known")
    cpus = place(topology, situation.view.after.virtio_nics).get(nic.name, {})
    if not cpus:
        return situation.declined(_no_queue_interrupt(nic))
    return _pin(situation, nic, topology, cpus)


def _no_queue_interrupt(nic: Nic) -> str:
    if nic.irqs_of(QueueRole.SHARED_QUEUES):
        return "not a queue interrupt: all queues share one vector, so there is nothing to spread"
    if nic.irqs_of(QueueRole.DEVICE):
        return "not a queue interrupt: one line serves the whole device, and others may share it"
    return "no queue has an interrupt with a handler"


def _pin(situation: Situation, nic: Nic, topology: CpuTopology, cpus: Mapping[int, int]) -> Solution:
    changes: list[Change] = []
    notes: list[str] = []
    for queue, cpu in cpus.items():
        for queue_irq in nic.pairs()[queue]:
            line = situation.view.after.irq(queue_irq.irq)
            note = _unsure(line, queue_irq)
            if note:
                notes.append(note)
            if _may_write(line) and not _is_at(line, cpu, topology):
                elsewhere = _elsewhere(topology, cpus, cpu)
                changes.append(replace(_change(nic, queue_irq, line, cpu), elsewhere=elsewhere))
    return Solution(tuple(changes), (*notes, *_about_mover(situation, nic), *_about_cpus(topology, cpus)))


def _elsewhere(topology: CpuTopology, cpus: Mapping[int, int], cpu: int) -> tuple[str, ...]:
    """Other CPUs, for where this one has no free vector: those without a queue of this NIC first."""
    used = set(cpus.values())
    others = sorted((one for one in topology.housekeeping if one != cpu), key=lambda one: (one in used, one))
    return tuple(map(str, others[:MOST_ELSEWHERE]))


def _may_write(line: IrqLine | None) -> bool:
    return line is None or line.movable is not False


def _is_at(line: IrqLine | None, cpu: int, topology: CpuTopology) -> bool:
    """Whether the mask names just this CPU. effective_affinity is not asked: it lags until the next interrupt."""
    return line is not None and line.affinity is not None and line.affinity & topology.online == CpuSet.of([cpu])


def _unsure(line: IrqLine | None, queue_irq: QueueIrq) -> str | None:
    name = f"IRQ {queue_irq.irq} ({queue_irq.role}.{queue_irq.queue})"
    if line is None:
        return f"{name}: its present affinity is not known, so no undo line can be given"
    reason = f": {line.movable_reason}" if line.movable_reason else ""
    if line.movable is False:
        return f"{name} cannot be moved and is left alone{reason}"
    if line.movable is None:
        return f"{name} may turn out not to be movable; nothing else depends on it{reason}"
    return None if line.affinity else f"{name}: its present affinity is not known, so no undo line can be given"


def _change(nic: Nic, queue_irq: QueueIrq, line: IrqLine | None, cpu: int) -> Change:
    path = f"/proc/irq/{queue_irq.irq}/smp_affinity_list"
    old = text_of(line.affinity) if line else None
    why = f"{_SERVES[queue_irq.role]} for queue pair {queue_irq.queue}, which is placed on CPU {cpu}"
    return Change(
        kind=TunableKind.IRQ_AFFINITY,
        target=nic_target(nic, queue_irq.queue, str(queue_irq.role), queue_irq.irq),
        where=path,
        old=old or None,
        new=str(cpu),
        why=why,
        do=echo(str(cpu), path),
        undo=undo_echo(old, path),
    )


def _about_mover(situation: Situation, nic: Nic) -> tuple[str, ...]:
    """That interrupts moved within the interval although irqbalance does not run, or was told to leave them."""
    moved = moved_by_another(situation.view, nic)
    return ("something else moves these interrupts; find it first, or it will undo the pins",) if moved else ()


def _about_cpus(topology: CpuTopology, cpus: Mapping[int, int]) -> tuple[str, ...]:
    notes = []
    avoided = topology.online - topology.housekeeping
    if avoided:
        notes.append(f"CPUs {avoided} are isolated or nohz_full and get no interrupts")
    if len(set(cpus.values())) < len(cpus):
        notes.append(f"{len(cpus)} queue pairs share {len(set(cpus.values()))} CPUs: there are no more to give")
    if topology.confined_to is not None:
        notes.append(f"tuneagent itself may run on CPUs {topology.confined_to} only; that does not limit the placement")
    return tuple(notes)

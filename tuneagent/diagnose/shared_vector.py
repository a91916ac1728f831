"""shared-vector: the queues of a NIC have one interrupt together, or one with other devices."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.subjects import data_irqs, device_of, no_interrupts, virtio_nics
from tuneagent.diagnose.wording import cpu_list, listed
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.view import View
from tuneagent.model.virtio import Transport

NAME = "shared-vector"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC. Nothing for channel I/O, whose interrupts are the adapter's (virtio_ccw.c)."""
    return tuple(_nic(view, nic) for nic in virtio_nics(view) if _transport(view, nic) is not Transport.CCW)


def _transport(view: View, nic: Nic) -> Transport | None:
    device = device_of(view, nic)
    return device.transport if device is not None else None


def _nic(view: View, nic: Nic) -> Judgement:
    irqs = data_irqs(nic)
    shared = [irq for irq in irqs if irq.role in {QueueRole.SHARED_QUEUES, QueueRole.DEVICE}]
    if shared:
        return _finding(view, nic, shared[0])
    if not irqs:
        return no_interrupts(NAME, nic)
    return Clear(NAME, nic.name, (Evidence("queue_interrupts", len(irqs), "interrupts", sources.INTERRUPTS),))


def _finding(view: View, nic: Nic, irq: QueueIrq) -> Finding:
    others = _others(view, nic, irq.irq)
    mmio = _transport(view, nic) is Transport.MMIO
    along = f" {listed(others)} would move along with it." if others else ""
    return Finding(
        NAME,
        nic.name,
        Severity.INFO if mmio and not others else Severity.WARNING,
        f"All queues of {nic.name} share IRQ {irq.irq}",
        f"{_cause(irq, mmio=mmio)} One CPU serves all of {nic.name}: its queues cannot be placed apart.{along}",
        (
            Evidence("shared_irq", irq.irq, "", sources.INTERRUPTS),
            Evidence("other_handlers", listed(others) or "none", "", sources.INTERRUPTS),
            *_place(view, irq.irq),
        ),
        (irq.irq,),
    )


def _cause(irq: QueueIrq, *, mmio: bool) -> str:
    if irq.role is QueueRole.SHARED_QUEUES:
        return f"There were too few vectors for one a queue, so IRQ {irq.irq} serves them all."
    if mmio:
        return f"A virtio-mmio device has one interrupt by design, here IRQ {irq.irq}."
    return f"The device has no message-signalled interrupts in use; IRQ {irq.irq} is its legacy line."


def _others(view: View, nic: Nic, irq: int) -> tuple[str, ...]:
    """Handlers on this line that are not this NIC's."""
    line = view.after.irq(irq)
    own = nic.virtio or ""
    actions = line.actions if line is not None else ()
    return tuple(name for name in actions if name != own and not name.startswith(f"{own}-"))


def _place(view: View, irq: int) -> tuple[Evidence, ...]:
    line = view.after.irq(irq)
    if line is None or line.effective_affinity is None:
        return ()
    place = cpu_list(line.effective_affinity)
    return (Evidence("shared_irq_cpus", place, "CPU list", sources.effective_affinity(irq)),)

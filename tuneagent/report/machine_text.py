"""The machine and its interfaces in a few lines: what the rest of a report is about."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.model.irq import QueueIrq
from tuneagent.model.nic import Nic
from tuneagent.model.view import IrqRate, NicRate, View
from tuneagent.model.virtio import Feature
from tuneagent.report.document import Block, Gap, Heading, Paragraph, Table
from tuneagent.report.safe import safe
from tuneagent.report.values import UNKNOWN, cpus, number

MOST_QUEUES = 16
"""Rows of the queue table in a text report; the JSON has all."""
STEAL_TOLD_PERCENT = 10.0
"""Mean steal of all CPUs from which it is told at the top; our own judgement."""
_KINDS = {"none": "not virtualised"}
"""Said otherwise here than in the JSON, where a bare “none” stands beside its key."""


def machine_line(view: View) -> str:
    """Role, virtualisation, kernel, CPUs and the interval on one line."""
    identity, topology = view.after.identity, view.after.cpus
    parts: list[str] = []
    if identity is not None:
        kind = identity.virtualisation or "virtualisation unknown"
        parts.append(f"{identity.role.value} ({safe(_KINDS.get(kind, kind))})")
        if identity.container:
            parts.append(f"in a container ({safe(identity.container)})")
        parts.append(f"Linux {safe(identity.kernel_release or UNKNOWN)} {safe(identity.architecture or '')}".rstrip())
    if topology is not None:
        count = len(topology.online)
        parts.append(f"{count} CPU{'s' if count != 1 else ''} online ({topology.online})")
        if topology.isolated:
            parts.append(f"isolated {topology.isolated}")
    parts.extend(_stolen(view))
    parts.append(_interval(view))
    return ", ".join(parts)


def _stolen(view: View) -> Iterator[str]:
    """What the hypervisor gave to others, where it is enough to slow everything that is measured here."""
    stolen = [rate.steal_percent for rate in view.cpus.values() if rate.steal_percent is not None]
    share = sum(stolen) / len(stolen) if stolen else 0.0
    if share >= STEAL_TOLD_PERCENT:
        yield f"{number(share)} % of the CPUs' time stolen by the host"


def _interval(view: View) -> str:
    if not view.interval_s:
        return f"no rates: {safe(view.rates_reason or '')}"
    assumed = " (assumed: the samples carry no clock; say with --interval how far apart they are)"
    return f"over {view.interval_s:.1f} s{assumed if view.interval_assumed else ''}"


def interface_blocks(view: View) -> Iterator[Block]:
    """For each virtio interface: what it is, what it carried, and its interrupts by queue."""
    for nic in view.after.virtio_nics:
        yield Gap()
        yield Heading(_title(view, nic))
        rate = view.nics.get(nic.name)
        if rate is not None:
            yield Paragraph(_traffic(rate), 2)
        rows = [_interrupt_row(view, irq) for irq in nic.data_irqs]
        if rows:
            yield _interrupts(rows)
        if len(rows) > MOST_QUEUES:
            yield Paragraph(f"{len(rows) - MOST_QUEUES} more interrupts are in --json", 2)


def _title(view: View, nic: Nic) -> str:
    device = view.after.virtio_device(nic.virtio)
    event_index = device.has(Feature.RING_EVENT_IDX) if device else None
    words = {True: "on", False: "off", None: "unknown"}[event_index]
    most = nic.channels.pairs_max if nic.channels else None
    offered = f" of {most} offered" if most is not None else ""
    pairs = "1 queue pair" if nic.queue_pairs == 1 else f"{nic.queue_pairs} queue pairs"
    place = f"{safe(nic.virtio or '')} at {safe(nic.bus_address or UNKNOWN)}"
    return f"{safe(nic.name)}: {place}, {pairs} in use{offered}, event index {words}"


def _traffic(rate: NicRate) -> str:
    facts = (
        ("received", rate.rx_packets_per_sec, " packets/s"),
        ("sent", rate.tx_packets_per_sec, " packets/s"),
        ("interrupts", rate.interrupts_per_sec, "/s"),
        ("receive interrupts per packet", rate.rx_interrupts_per_packet, ""),
        ("transmit kicks per packet", rate.tx_kicks_per_packet, ""),
        ("receive drops", rate.rx_drops_per_sec, "/s"),
    )
    return ", ".join(f"{name} {number(value)}{unit if value is not None else ''}" for name, value, unit in facts)


def _interrupts(rows: list[tuple[str, ...]]) -> Table:
    columns = ("queue", "IRQ", "may go to", "goes to", "interrupts/s", "on CPU")
    return Table(columns, tuple(rows[:MOST_QUEUES]), frozenset({"IRQ", "interrupts/s"}))


def _interrupt_row(view: View, irq: QueueIrq) -> tuple[str, ...]:
    line, rate = view.after.irq(irq.irq), view.irqs.get(irq.irq)
    name = irq.role.value if irq.queue is None else f"{irq.role.value}.{irq.queue}"
    return (
        name,
        str(irq.irq),
        cpus(line.affinity if line else None),
        cpus(line.effective_affinity if line else None),
        number(rate.per_sec if rate else None),
        _landed(rate),
    )


def _landed(rate: IrqRate | None) -> str:
    if rate is None:
        return UNKNOWN
    shares = sorted(rate.per_cpu.items(), key=lambda entry: (-entry[1], entry[0]))
    words = [f"{cpu}: {100 * count / rate.count:.0f} %" for cpu, count in shares[:4] if rate.count]
    return ", ".join(words) + (" …" if len(shares) > len(words) else "") if words else "none"

"""Every interrupt as something to be placed: /proc/irq/N, its owner, and whether user space may move it."""

from __future__ import annotations

import re
from collections.abc import Callable

from tuneagent.model.counters import InterruptRow, Interrupts
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import SourceError
from tuneagent.model.irq import IrqLine
from tuneagent.model.missing import Reason
from tuneagent.model.virtio import Transport, VirtioDevice
from tuneagent.observe.gaps import Gaps, some_cpus
from tuneagent.parse import cpulist, cpumask, irq_actions
from tuneagent.parse.interrupts import pci_address

IRQ = "/proc/irq"
MOST_LINES = 4096
"""Interrupts whose files are read; seven files each. A server with ten 100 Gbit/s NICs has about 1,500."""
_NUMBER = re.compile(r"[0-9]{1,10}")
Parse = Callable[[str], CpuSet]


def observe(gaps: Gaps, interrupts: Interrupts | None, virtio: tuple[VirtioDevice, ...] | None) -> tuple[IrqLine, ...]:
    """One line for each numbered row of /proc/interrupts; () when that is unknown."""
    owners = _owners(gaps, virtio or ())
    rows = [row for row in interrupts.rows if row.irq is not None] if interrupts else []
    if len(rows) > MOST_LINES:
        gaps.note("irq.placement", IRQ, Reason.TOO_LARGE, f"only {MOST_LINES} of {len(rows)} interrupts were looked at")
        # A stable sort: virtio's first, the rest in the table's order.
        rows = sorted(rows, key=lambda row: not any(action.startswith("virtio") for action in row.actions))
    return tuple(_line(gaps, row, row.irq, owners) for row in rows[:MOST_LINES] if row.irq is not None)


def _owners(gaps: Gaps, virtio: tuple[VirtioDevice, ...]) -> dict[int, str]:
    # msi_irqs lies in the PCI function, the virtio device's parent; on some kernels (5.17 to 5.19) it is empty.
    owners: dict[int, str] = {}
    for device in virtio:
        if device.transport is not Transport.PCI or device.bus_address is None:
            continue
        directory = f"/sys/bus/virtio/devices/{device.name}/../msi_irqs"
        parent = gaps.link(f"/sys/bus/virtio/devices/{device.name}")
        if parent is not None:
            directory = f"{parent.rsplit('/', 1)[0]}/msi_irqs"
        names = gaps.names(f"virtio.{device.name}.msi_irqs", directory, optional=True) or ()
        owners |= {int(name): device.bus_address for name in names if _NUMBER.fullmatch(name)}
    return owners


def _line(gaps: Gaps, row: InterruptRow, number: int, owners: dict[int, str]) -> IrqLine:
    directory = f"{IRQ}/{number}"
    affinity = _cpus(gaps, number, "smp_affinity", some_cpus)
    movable, reason = _movable(gaps, directory, affinity)
    return IrqLine(
        irq=number,
        actions=row.actions or _actions(gaps, number),
        chip=row.chip,
        hwirq=row.hwirq,
        trigger=row.trigger,
        pci_address=owners.get(number) or pci_address(row.chip),
        affinity=affinity,
        # An empty effective mask is that of an interrupt that was never set up (kernel/irq/chip.c irq_startup).
        effective_affinity=_cpus(gaps, number, "effective_affinity", cpulist.parse),
        affinity_hint=_hint(gaps, number),
        node=_node(gaps, number),
        movable=movable,
        movable_reason=reason,
    )


def _actions(gaps: Gaps, number: int) -> tuple[str, ...]:
    path = f"/sys/kernel/irq/{number}/actions"
    return gaps.parsed(f"irq.{number}.actions", path, irq_actions.parse, optional=True) or ()


def _cpus(gaps: Gaps, number: int, name: str, parse: Parse) -> CpuSet | None:
    listed = f"{IRQ}/{number}/{name}_list"
    cpus = gaps.parsed(f"irq.{number}.{name}", listed, parse, optional=True)
    if cpus is None:
        cpus = gaps.parsed(f"irq.{number}.{name}", f"{IRQ}/{number}/{name}", cpumask.parse, optional=True)
    return cpus or None


def _hint(gaps: Gaps, number: int) -> CpuSet | None:
    # All zero is "no hint", never a set to place anything on.
    path = f"{IRQ}/{number}/affinity_hint"
    return gaps.parsed(f"irq.{number}.affinity_hint", path, cpumask.parse, optional=True) or None


def _node(gaps: Gaps, number: int) -> int | None:
    node = gaps.integer(f"irq.{number}.node", f"{IRQ}/{number}/node", low=-1)
    return node if node is not None and node >= 0 else None


def _movable(gaps: Gaps, directory: str, affinity: CpuSet | None) -> tuple[bool | None, str | None]:
    # Since kernel commit c7718e5c76d4 the files of managed and fixed interrupts are read-only (0444). Before, the
    # mode is 0644 for all and only a write tells (EIO): True here is "the kernel does not forbid it".
    if affinity is None:
        return None, "its affinity cannot be read"
    for name in ("smp_affinity_list", "smp_affinity"):
        try:
            writable = gaps.source.writable_mode(f"{directory}/{name}")
        except SourceError as error:
            if error.reason is Reason.ABSENT:
                continue
            return None, error.detail
        return (True, None) if writable else (False, "the kernel fixes its place (managed or per-CPU interrupt)")
    return None, "the kernel shows no affinity file for it"

"""An interrupt as something that can be placed: who it belongs to and where it may and does go."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuneagent.model.cpuset import CpuSet


@dataclass(frozen=True, slots=True)
class IrqLine:
    """One interrupt: /proc/irq/N, /sys/kernel/irq/N and its row of /proc/interrupts. Counts are in ``Interrupts``."""

    irq: int
    actions: tuple[str, ...]
    chip: str | None
    hwirq: str | None
    trigger: str | None
    pci_address: str | None
    """``0000:00:03.0``: from msi_irqs of the device, else from a chip name that spells it."""
    affinity: CpuSet | None
    """smp_affinity_list: where it may go."""
    effective_affinity: CpuSet | None
    """effective_affinity_list: where it does go; on x86 one CPU. Lags a write until the next interrupt."""
    affinity_hint: CpuSet | None
    """What the driver would like; None also for an all-zero hint, which means no hint."""
    node: int | None
    """NUMA node; None for the kernel's -1."""
    movable: bool | None
    """Whether user space may place it; None when it cannot be told."""
    movable_reason: str | None = None
    """Why it cannot be moved, or why that is not known."""

    @property
    def served_by(self) -> CpuSet:
        """CPUs that the next interrupt will fall on; the empty set when that cannot be told.

        A message-signalled vector moves with its next interrupt only, so an idle one keeps an effective affinity out of
        the mask it was given. Its next interrupt then falls inside the mask: known when the mask is one CPU. The same
        holds where there is no effective affinity: before Linux 4.13, and with controllers that do not report one.
        """
        if self.placed_by_mask:
            return self.affinity if self.affinity is not None and len(self.affinity) == 1 else CpuSet()
        return self.effective_affinity or CpuSet()

    @property
    def placed_by_mask(self) -> bool:
        """Whether only the mask can tell where the next interrupt falls."""
        effective = self.effective_affinity
        return not effective or bool(self.affinity and not effective & self.affinity)


class QueueRole(StrEnum):
    """What a virtio-net interrupt serves (drivers/virtio/virtio_pci_common.c, drivers/net/virtio_net.c)."""

    INPUT = "input"
    OUTPUT = "output"
    CONFIG = "config"
    SHARED_QUEUES = "shared-queues"
    """One vector for all queues, named ``virtioN-virtqueues``: too few vectors for one each."""
    DEVICE = "device"
    """One line for the whole device, named ``virtioN``: INTx or virtio-mmio."""


@dataclass(frozen=True, slots=True)
class QueueIrq:
    """Which queue of a NIC an interrupt serves; known by bus address, role and queue, not by its number."""

    irq: int
    role: QueueRole
    queue: int | None
    """Queue pair index for INPUT and OUTPUT, else None."""

"""One moment of one machine, raw: counters stay counters, and what is missing is listed with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.model.clock import Clock
from tuneagent.model.contention import ContentionCounts, LockRecord, LockStat
from tuneagent.model.counters import CpuTimes, Interrupts, Protocols, Softirqs, Softnet
from tuneagent.model.hypervisor import Hypervisor
from tuneagent.model.identity import Identity
from tuneagent.model.irq import IrqLine
from tuneagent.model.irqbalance import Irqbalance
from tuneagent.model.missing import Missing
from tuneagent.model.nic import Nic
from tuneagent.model.topology import CpuTopology
from tuneagent.model.virtio import VirtioDevice


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one look at the machine gave. A part is None, and listed in ``missing``, when it could not be seen."""

    clock: Clock | None
    identity: Identity | None
    cpus: CpuTopology | None
    interrupts: Interrupts | None
    irqs: tuple[IrqLine, ...] | None
    virtio: tuple[VirtioDevice, ...] | None
    nics: tuple[Nic, ...] | None
    softnet: Softnet | None
    softirqs: Softirqs | None
    cpu_times: CpuTimes | None
    protocols: Protocols | None
    irqbalance: Irqbalance | None
    missing: tuple[Missing, ...]
    hypervisor: Hypervisor | None = None
    """None where this machine runs no virtual machines and has no KVM."""
    contention: ContentionCounts | None = None
    lock_record: LockRecord | None = None
    """None where none was asked for."""
    lock_stat: LockStat | None = None
    """None on the many kernels that have none, too: that is no gap."""
    rps_sock_flow_entries: int | None = None
    """net.core.rps_sock_flow_entries; None where it is not known, as in a network namespace other than the first."""

    def irq(self, number: int) -> IrqLine | None:
        """The interrupt with this number."""
        return next((line for line in self.irqs or () if line.irq == number), None)

    def nic(self, name: str) -> Nic | None:
        """The interface with this name."""
        return next((nic for nic in self.nics or () if nic.name == name), None)

    def virtio_device(self, name: str | None) -> VirtioDevice | None:
        """The virtio device with this name."""
        return next((device for device in self.virtio or () if device.name == name), None)

    @property
    def virtio_nics(self) -> tuple[Nic, ...]:
        """The interfaces that are virtio NICs."""
        return tuple(nic for nic in self.nics or () if nic.virtio is not None)

"""What rules look at, and the words for not being able to judge it."""

from __future__ import annotations

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Unjudged
from tuneagent.model.identity import Role
from tuneagent.model.irq import QueueIrq
from tuneagent.model.nic import Nic
from tuneagent.model.view import View
from tuneagent.model.virtio import VirtioDevice

MACHINE = "machine"


def virtio_nics(view: View) -> tuple[Nic, ...]:
    """The virtio NICs of the later sample: what rules about virtio look at, and nothing else."""
    return view.after.virtio_nics


def device_nics(view: View) -> tuple[Nic, ...]:
    """The interfaces with a device on a bus behind them: not loopback, bridges, VLANs or other software."""
    return tuple(nic for nic in view.after.nics or () if nic.bus_address is not None)


def device_of(view: View, nic: Nic) -> VirtioDevice | None:
    """The virtio device behind an interface."""
    return view.after.virtio_device(nic.virtio)


def data_irqs(nic: Nic) -> tuple[QueueIrq, ...]:
    """Interrupts that move packets now: not the configuration change's, nor those of queues that are switched off."""
    return nic.data_irqs_in_use


def online(view: View) -> CpuSet | None:
    """CPUs that are online; None where the topology could not be read."""
    return view.after.cpus.online if view.after.cpus is not None else None


def single_cpu(view: View) -> bool:
    """Whether the machine is known to have one CPU, so that placement is no question."""
    cpus = online(view)
    return cpus is not None and len(cpus) == 1


def role(view: View) -> Role:
    """Which side of the virtual machine boundary this is."""
    return view.after.identity.role if view.after.identity is not None else Role.UNKNOWN


def measured(view: View) -> bool:
    """Whether there is an interval: two samples with neither a suspend nor a reboot between them."""
    return view.before is not None and view.rates_reason is None


def no_rates(view: View, rule: str, subject: str) -> Unjudged:
    """There is no interval to judge, with the reason that the comparison gave."""
    return Unjudged(rule, subject, view.rates_reason or "no rates: the counters of the two samples cannot be compared")


def no_topology(rule: str, subject: str) -> Unjudged:
    """Rules that place something need to know the CPUs."""
    return Unjudged(rule, subject, "which CPUs are online is not known")


def no_interrupts(rule: str, nic: Nic) -> Unjudged:
    """The interface's interrupts could not be told from those of others."""
    return Unjudged(rule, nic.name, f"no queue interrupt of {nic.name} is known")


def quiet(rule: str, subject: str, detail: str) -> Unjudged:
    """The only thing that lacks is load."""
    return Unjudged(rule, subject, f"too little traffic to judge: {detail}", idle=True)

"""From an identity that lasts to the names and numbers of now: which interface, which interrupt, which CPUs."""

from __future__ import annotations

from dataclasses import replace

from tuneagent.apply.actuator import Refusal, Why
from tuneagent.machine.source import Source
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import IrqLine, QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Target
from tuneagent.observe import counters, irqs, nics, topology, virtio
from tuneagent.observe.gaps import Gaps


class Lookup:
    """The interfaces and interrupts of a machine, observed when first asked for and kept until ``forget``."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._nics: tuple[Nic, ...] | None = None
        self._lines: dict[int, IrqLine] = {}
        self._online: CpuSet | None = None

    def forget(self) -> None:
        """The next question looks anew: numbers change when queues do."""
        self._nics, self._lines, self._online = None, {}, None

    def nics(self) -> tuple[Nic, ...]:
        """All interfaces; () where they cannot be seen."""
        if self._nics is None:
            gaps = Gaps(self._source)
            cpus = topology.observe(gaps)
            self._online = cpus.online if cpus is not None else CpuSet()
            devices = virtio.observe(gaps)
            lines = irqs.observe(gaps, counters.observe_interrupts(gaps, None), devices)
            self._lines = {line.irq: line for line in lines}
            self._nics = nics.observe(gaps, nics.Around(cpus, lines, devices or ())) or ()
        return self._nics

    def nic(self, target: Target) -> Nic:
        """The interface with the target's bus address and MAC; without a bus address its MAC and name.

        A bus address alone is no identity: another device may have been plugged in there, and after a migration the
        same place may hold a device with another address. But what was changed is known by its ifindex too, which no
        other interface gets within a boot: a bond gives its members another MAC, and names change. Refusal with GONE
        where there is none, or more than one.
        """
        found = [nic for nic in self.nics() if _is(nic, target)] or self._renamed(target)
        if len(found) > 1:  # the ports of one function, or VLANs on one device
            found = [nic for nic in found if nic.name == target.interface]
        if len(found) != 1:
            raise Refusal(Why.GONE, f"there is no interface with {_words(target)} now")
        return found[0]

    def known(self, target: Target) -> Target:
        """The target with the interface's name of now and its ifindex. Refusal as :meth:`nic`."""
        nic = self.nic(target)
        return replace(target, interface=nic.name, ifindex=nic.ifindex)

    def _renamed(self, target: Target) -> list[Nic]:
        """The interface that has another name or MAC since it was changed."""
        if target.ifindex is None:
            return []
        return [nic for nic in self.nics() if (nic.ifindex, nic.bus_address) == (target.ifindex, target.bus_address)]

    def irq(self, target: Target) -> IrqLine:
        """The interrupt of the target's queue and role. Refusal with GONE where it has none now."""
        nic = self.nic(target)
        for irq in nic.queue_irqs:
            if irq.role == target.queue_role and irq.queue == target.queue and irq.irq in self._lines:
                return self._lines[irq.irq]
        raise Refusal(Why.GONE, f"{nic.name} has no interrupt {target.queue_role}.{target.queue} with a handler now")

    def queue_irqs(self, nic: Nic) -> tuple[IrqLine, ...]:
        """The interrupts of its queues, of those that are switched off too, by queue, input before output."""
        queues = nic.irqs_of(QueueRole.INPUT, QueueRole.OUTPUT)
        return tuple(self._lines[irq.irq] for irq in queues if irq.irq in self._lines)

    def online(self) -> CpuSet:
        """CPUs that are online now; empty where that is not known."""
        if self._online is None:
            cpus = topology.observe(Gaps(self._source))
            self._online = cpus.online if cpus is not None else CpuSet()
        return self._online


def _is(nic: Nic, target: Target) -> bool:
    if target.bus_address is None:
        return nic.name == target.interface and nic.mac == target.mac
    return nic.bus_address == target.bus_address and nic.mac == target.mac


def _words(target: Target) -> str:
    parts = [f"the address {target.bus_address}"] if target.bus_address else [f"the name {target.interface}"]
    return " and ".join((*parts, f"the MAC {target.mac}"))

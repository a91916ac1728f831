"""A virtual machine as its libvirt definition tells it. What the definition does not say is None, not its default."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuneagent.model.cpuset import CpuSet

VIRTIO_MODELS = frozenset({"virtio", "virtio-transitional", "virtio-non-transitional"})
"""``<model type=…>`` of an interface that the guest sees as virtio-net."""
TAP_TYPES = frozenset({"network", "bridge", "ethernet", "direct"})
"""``<interface type=…>`` whose back end is a tap or macvtap of the host: those that vhost-net can serve."""


class Backend(StrEnum):
    """Who moves the packets of an interface between guest and host."""

    VHOST = "vhost"
    """The kernel's vhost-net worker; libvirt's choice for virtio on a tap where /dev/vhost-net is there."""
    QEMU = "qemu"
    """QEMU's own threads: every packet passes through user space."""
    VHOST_USER = "vhost-user"
    """Another process, such as a software switch."""
    VDPA = "vdpa"
    """A device that speaks virtio itself."""
    HOSTDEV = "hostdev"
    """A passed-through device."""
    EMULATED = "emulated"
    """A device model that is no virtio, such as e1000e."""


@dataclass(frozen=True, slots=True)
class DomainInterface:
    """One ``<interface>`` (https://libvirt.org/formatdomain.html#network-interfaces). MACs need not be unique."""

    position: int
    """Place among the domain's interfaces, from 0: the only key that is always unique."""
    type: str
    mac: str | None
    model: str | None
    source: str | None
    """The bridge, network, device or socket it is joined to."""
    target: str | None
    """The host's device, ``vnet0``; there while the domain runs."""
    alias: str | None
    address: str | None
    """PCI address in the guest, ``0000:01:00.0``."""
    driver_name: str | None
    """``name`` of ``<driver>`` as written: ``vhost``, ``qemu``, ``vfio``."""
    queues: int | None
    """``queues`` as written; None where the attribute is not there, which means one."""
    event_idx: bool | None
    """``event_idx`` as written; None means on."""
    ioeventfd: bool | None
    packed: bool | None
    txmode: str | None
    rx_queue_size: int | None
    tx_queue_size: int | None
    teaming: str | None
    """``persistent`` or ``transient`` of ``<teaming>``: two interfaces then share a MAC on purpose."""
    link_up: bool | None
    """``<link state=…>`` as written; None means up."""
    xml: str
    """The element itself, as canonical text on one line, for whoever wants to give it back changed."""

    @property
    def is_virtio(self) -> bool:
        """Whether the guest sees a virtio-net device that this definition describes."""
        return self.type != "hostdev" and self.model in VIRTIO_MODELS

    @property
    def backend(self) -> Backend:
        """Who moves its packets, by the definition. VHOST by default is libvirt's wish: the module must be there."""
        if self.type == "hostdev":
            return Backend.HOSTDEV
        if not self.is_virtio:
            return Backend.EMULATED
        if self.type == "vhostuser":
            return Backend.VHOST_USER
        if self.type == "vdpa":
            return Backend.VDPA
        if self.type in TAP_TYPES and self.driver_name in {None, "vhost"}:
            return Backend.VHOST
        return Backend.QEMU

    @property
    def event_index(self) -> bool | None:
        """Whether it offers VIRTIO_RING_F_EVENT_IDX, which is so unless switched off; None for what is no virtio."""
        return self.event_idx is not False if self.is_virtio else None

    @property
    def queue_pairs(self) -> int | None:
        """Queue pairs that the definition offers (one unless it says more); None for a passed-through device."""
        return None if self.type == "hostdev" else self.queues or 1


@dataclass(frozen=True, slots=True)
class Domain:
    """One libvirt domain. CPU sets are the host's CPUs, nodes the host's NUMA nodes."""

    uuid: str
    """Lower case; the guest's product_uuid on x86. Empty in a definition that libvirt has not taken over yet."""
    name: str
    uri: str
    """The connection that told of it: ``qemu:///system``."""
    running: bool
    """Whether it has a QEMU process: also while it is paused."""
    state: str
    """libvirt's word: ``running``, ``paused``, ``shut off``…"""
    type: str
    """``kvm``, ``qemu`` (software emulation), …"""
    vcpus: int | None
    """vCPUs it has now (``current``, else all)."""
    vcpus_max: int | None
    vcpu_cpus: CpuSet | None
    """``cpuset`` of ``<vcpu>``: where vCPUs without a pin of their own may run; None means anywhere."""
    vcpu_pins: dict[int, CpuSet]
    """``<vcpupin>`` by vCPU."""
    emulator_pin: CpuSet | None
    """``<emulatorpin>``: QEMU's other threads, and with them the vhost workers since Linux 6.4."""
    memory_kib: int | None
    """Memory that it has now (``<currentMemory>``, else ``<memory>``)."""
    memory_nodes: CpuSet | None
    """``<numatune><memory nodeset=…>`` as a set of node numbers."""
    hugepages: bool
    numa_cells: int
    """NUMA nodes that the guest sees; 0 where the definition has none."""
    guest_agent: bool | None
    """Whether the guest's agent is connected; False without a channel for it, None where its state is not told."""
    interfaces: tuple[DomainInterface, ...]
    pending: Domain | None = None
    """The stored definition where it differs from the running one: it counts from the next cold start on."""
    vcpu_numbers: tuple[int, ...] | None = None
    """Numbers of the vCPUs that it has, where unplugging left holes; None where they are 0 to ``vcpus`` - 1."""

    @property
    def virtio_interfaces(self) -> tuple[DomainInterface, ...]:
        """The interfaces that the guest sees as virtio-net."""
        return tuple(one for one in self.interfaces if one.is_virtio)

    @property
    def vcpus_are_pinned(self) -> bool:
        """Whether every vCPU may run on named CPUs only."""
        return self.vcpus is not None and (
            self.vcpu_cpus is not None or all(vcpu in self.vcpu_pins for vcpu in self.vcpu_numbers or range(self.vcpus))
        )

    def vcpu_may_run_on(self, vcpu: int) -> CpuSet | None:
        """The host CPUs that the definition gives a vCPU; None where it does not say."""
        return self.vcpu_pins.get(vcpu, self.vcpu_cpus)

    def stored_interface(self, interface: DomainInterface) -> DomainInterface | None:
        """The same virtio interface in the stored definition; None where that is the same, lacks it, or has several.

        It is known by its MAC, and by its place on the bus where a definition gives one MAC twice.
        """
        if self.pending is None:
            return None
        same = [one for one in self.pending.virtio_interfaces if one.mac == interface.mac]
        if len(same) > 1:
            same = [one for one in same if one.address == interface.address]
        return same[0] if len(same) == 1 else None

"""A hypervisor's virtual machines over an interval, and the guest's own view beside each where it was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.hypervisor import DomainThread, KvmCounters, KvmSource, Tap, ThreadRole, VirtioStatus, is_exit_kind

if TYPE_CHECKING:
    from tuneagent.model.nic import Nic
    from tuneagent.model.view import NicRate, View


TOGETHER = "all virtual machines"
"""Key and name of what a kernel counts of all of them, where it could make none a directory of its own."""


@dataclass(frozen=True, slots=True)
class KvmRate:
    """KVM's counters of one virtual machine over the interval, by KVM's names; absent names are unknown."""

    source: KvmSource
    seconds: float
    per_sec: Mapping[str, float]
    """Over all vCPUs."""
    vcpus: Mapping[int, Mapping[str, float]]
    """By vCPU; empty where only totals are told."""
    exits_are_a_sum: bool = False

    @property
    def exits_per_sec(self) -> float | None:
        """VM exits a second."""
        return self.per_sec.get("exits")

    @property
    def exits_by_kind(self) -> tuple[tuple[str, float], ...]:
        """Kinds of exits that there were and how many a second, biggest first. Not every exit has a kind."""
        found = ((name, rate) for name, rate in self.per_sec.items() if rate > 0 and is_exit_kind(name))
        return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0])))


@dataclass(frozen=True, slots=True)
class ThreadRate:
    """One thread over the interval; a share is None where the thread is new or its counters were not told."""

    thread: DomainThread
    cpu_percent: float | None
    """Time on a CPU, in percent of one CPU."""
    wait_percent: float | None
    """Time runnable and waiting for a CPU, in percent of the interval."""
    moved: bool
    """Whether it ran on another CPU, or may run elsewhere, than at the first sample."""


@dataclass(frozen=True, slots=True)
class TapRate:
    """A tap over the interval, in the guest's directions; None where a counter was absent or reset."""

    tap: Tap
    interface: DomainInterface | None
    """The interface of the domain that it carries."""
    to_guest_packets_per_sec: float | None
    from_guest_packets_per_sec: float | None
    to_guest_bytes_per_sec: float | None
    from_guest_bytes_per_sec: float | None
    to_guest_drops_per_sec: float | None
    """The guest's ring was full: tx_dropped of a tap, rx_dropped of a macvtap, whose directions are not mirrored."""
    from_guest_drops_per_sec: float | None

    @property
    def packets_per_sec(self) -> float | None:
        """Packets a second in both directions."""
        if self.to_guest_packets_per_sec is None or self.from_guest_packets_per_sec is None:
            return None
        return self.to_guest_packets_per_sec + self.from_guest_packets_per_sec


@dataclass(frozen=True, slots=True)
class JoinedNic:
    """One interface seen from both sides, joined by MAC (and PCI address where two share one)."""

    interface: DomainInterface
    tap: TapRate | None
    nic: Nic
    rate: NicRate | None


@dataclass(frozen=True, slots=True)
class JoinedRates:
    """What only both sides together can tell; each None with its reason in ``reasons`` by field name."""

    exits_per_packet: float | None
    """VM exits per packet that the guest's virtio NICs received or sent."""
    guest_interrupts_per_delivered_packet: float | None
    """Queue interrupts that the guest handled per packet that the host put into its rings."""
    injections_per_interrupt: float | None
    """KVM's irq_injections per interrupt that the guest counted, all kinds."""
    kicks_per_io_exit: float | None
    """Notifications that the guest's virtio-net drivers sent per exit for input/output (io and mmio)."""
    vhost_cpu_us_per_packet: float | None
    """CPU time of the vhost workers per packet through the taps, in µs."""
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class Guest:
    """The inside of a virtual machine, as it tells it itself: a lying guest spoils this part only."""

    origin: str
    """``guest agent (guest-exec)``, ``guest agent (guest-file-read)``, ``snapshot FILE``."""
    view: View | None
    """None where the guest could not be seen; then ``reason`` says why."""
    reason: str | None = None
    remedy: str | None = None
    """How to allow it."""
    joined_by: str | None = None
    """``product UUID``, or ``MAC address`` where the guest's product UUID was not to be seen."""
    nics: tuple[JoinedNic, ...] = ()
    rates: JoinedRates | None = None


@dataclass(frozen=True, slots=True)
class DomainView:
    """One virtual machine over the interval: its definition, what it cost, what served it."""

    key: str
    """The domain's UUID, or ``pid N`` for a QEMU that no libvirt told of."""
    name: str
    pid: int | None
    """QEMU's process in the later sample; None where it is not known."""
    definition: Domain | None
    kvm: KvmRate | None
    kvm_reason: str | None
    """Why there are no exit rates; None where there are."""
    threads: tuple[ThreadRate, ...]
    taps: tuple[TapRate, ...]
    virtio: tuple[VirtioStatus, ...] = ()
    guest: Guest | None = None
    """None where the guest was not asked for."""
    vcpus_seen: int | None = None
    """vCPUs by KVM or by their threads; None where neither tells of all."""
    counters: KvmCounters | None = None
    """KVM's counters as they stood in the later sample; None where they were not seen."""
    apart: str | None = None
    """What tells it from another of the same name (system and session, say): its key, or the start of it."""

    @property
    def subject(self) -> str:
        """What findings on the whole virtual machine are about: its name, and what sets it apart where names repeat."""
        return f"domain {self.name}" if self.apart is None else f"domain {self.name} ({self.apart})"

    def subject_of(self, interface: DomainInterface) -> str:
        """What findings on one of its interfaces are about: the target device where it runs, else the MAC.

        Where two share the MAC (teaming) or have none, it is the interface's place.
        """
        return f"{self.subject} {interface.target or self._own_mac(interface) or f'interface {interface.position}'}"

    def _own_mac(self, interface: DomainInterface) -> str | None:
        others = self.definition.interfaces if self.definition else ()
        shared = any(one.mac == interface.mac and one.position != interface.position for one in others)
        return None if shared else interface.mac

    @property
    def vcpus(self) -> int | None:
        """How many vCPUs it has: by its definition, else by what was seen of it; None where neither tells."""
        defined = self.definition.vcpus if self.definition is not None else None
        return defined or (len(self.kvm.vcpus) if self.kvm is not None else 0) or self.vcpus_seen

    def of_role(self, role: ThreadRole) -> tuple[ThreadRate, ...]:
        """Its threads of one kind."""
        return tuple(one for one in self.threads if one.thread.role is role)

    def tap_of(self, interface: DomainInterface) -> TapRate | None:
        """The tap that carries an interface."""
        return next((one for one in self.taps if one.interface is not None and one.interface == interface), None)

    @property
    def packets_per_sec(self) -> float | None:
        """Packets a second through its taps; None without taps or where one is unknown."""
        rates = [one.packets_per_sec for one in self.taps]
        if not rates or None in rates:
            return None
        return sum(rate for rate in rates if rate is not None)

    @property
    def exits_per_packet(self) -> float | None:
        """VM exits per packet through its taps; None without either."""
        exits = self.kvm.exits_per_sec if self.kvm else None
        packets = self.packets_per_sec
        return exits / packets if exits is not None and packets else None


@dataclass(frozen=True, slots=True)
class HypervisorView:
    """The virtual machines of a host over the interval, in the order of their names."""

    domains: tuple[DomainView, ...]
    gone: tuple[str, ...]
    """Names of those that ran at the first sample only: stopped, migrated away or crashed."""
    new: tuple[str, ...]
    """Names of those that ran at the second sample only."""
    stray_taps: tuple[TapRate, ...]
    """Taps that belong to no known domain."""

    def find(self, name: str) -> DomainView | None:
        """The virtual machine with this UUID or name; of several with one name, the first: see :meth:`named`."""
        return next((one for one in self.domains if one.key == name), None) or next(iter(self.named(name)), None)

    def named(self, name: str) -> tuple[DomainView, ...]:
        """All virtual machines with this name: more than one where several connections were asked."""
        return tuple(one for one in self.domains if one.name == name)

    def of_subject(self, subject: str) -> tuple[DomainView, DomainInterface | None] | None:
        """The virtual machine, and the interface, that a finding's subject names."""
        for domain in self.domains:
            if subject == domain.subject:
                return domain, None
            for interface in domain.definition.interfaces if domain.definition else ():
                if subject == domain.subject_of(interface):
                    return domain, interface
        return None

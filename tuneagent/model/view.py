"""Two snapshots of one machine, and what happened between them: rates, with the configuration at both ends."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from itertools import compress
from operator import sub

from tuneagent.model.contention import Contention, LockStat
from tuneagent.model.domain_view import HypervisorView
from tuneagent.model.irq import QueueIrq
from tuneagent.model.irqbalance import Irqbalance
from tuneagent.model.missing import Missing
from tuneagent.model.nic import Nic
from tuneagent.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Growth(Mapping[int, int]):
    """What grew, by CPU id, worked out when it is asked for: of 1,000 interrupts a report looks at a few.

    Equal to a dict of the same content. ``old`` and ``new`` are the counts of the same ``cpus``; none fell.
    """

    cpus: tuple[int, ...]
    old: tuple[int, ...]
    new: tuple[int, ...]

    def __getitem__(self, cpu: int) -> int:
        return dict(self._pairs())[cpu]

    def __iter__(self) -> Iterator[int]:
        return (cpu for cpu, _ in self._pairs())

    def __len__(self) -> int:
        return sum(1 for _ in self._pairs())

    def items(self) -> ItemsView[int, int]:
        """(CPU, growth) of the CPUs that grew."""
        return dict(self._pairs()).items()

    def values(self) -> ValuesView[int]:
        """The growth of the CPUs that grew."""
        return dict(self._pairs()).values()

    def _pairs(self) -> Iterator[tuple[int, int]]:
        growth = tuple(map(sub, self.new, self.old))
        return compress(zip(self.cpus, growth, strict=False), growth)


@dataclass(frozen=True, slots=True)
class IrqRate:
    """Interrupts of one IRQ over the interval. Only CPUs present in both samples are in ``per_cpu``."""

    irq: int
    count: int
    """Interrupts in the interval, all CPUs."""
    per_cpu: Mapping[int, int]
    """Interrupts in the interval by CPU id; CPUs without growth are left out."""
    per_sec: float
    seconds: float

    @property
    def per_cpu_per_sec(self) -> dict[int, float]:
        """Interrupts a second by CPU id."""
        return {cpu: count / self.seconds for cpu, count in self.per_cpu.items()}


@dataclass(frozen=True, slots=True)
class QueueRate:
    """One queue pair over the interval; None where the counter was absent, reset or not comparable."""

    index: int
    rx_irq: int | None
    tx_irq: int | None
    rx_interrupts_per_sec: float | None
    tx_interrupts_per_sec: float | None
    rx_packets_per_sec: float | None = None
    tx_packets_per_sec: float | None = None
    rx_kicks_per_sec: float | None = None
    tx_kicks_per_sec: float | None = None
    rx_drops_per_sec: float | None = None
    tx_drops_per_sec: float | None = None


@dataclass(frozen=True, slots=True)
class NicRate:
    """One interface over the interval; None where a counter was absent, reset or not comparable."""

    name: str
    seconds: float
    rx_packets_per_sec: float | None
    tx_packets_per_sec: float | None
    rx_bytes_per_sec: float | None
    tx_bytes_per_sec: float | None
    rx_drops_per_sec: float | None
    tx_drops_per_sec: float | None
    rx_errors_per_sec: float | None
    tx_errors_per_sec: float | None
    rx_missed_per_sec: float | None
    queues: tuple[QueueRate, ...]
    interrupts_per_sec: float | None
    """All queue interrupts of the NIC (config interrupts excluded)."""
    rx_interrupts_per_packet: float | None
    """Receive interrupts per received packet; None without packets or without a receive interrupt of its own."""
    tx_interrupts_per_packet: float | None
    interrupts_per_packet: float | None
    """All queue interrupts per packet in either direction, the only figure where vectors are shared."""
    rx_kicks_per_packet: float | None
    tx_kicks_per_packet: float | None
    tx_timeouts: int | None
    """Transmit watchdog firings within the interval, all queues."""

    @property
    def packets_per_sec(self) -> float | None:
        """Packets a second in both directions."""
        if self.rx_packets_per_sec is None or self.tx_packets_per_sec is None:
            return None
        return self.rx_packets_per_sec + self.tx_packets_per_sec


@dataclass(frozen=True, slots=True)
class CpuRate:
    """How one CPU spent the interval, in percent of it, and its network softirq work; None where not counted."""

    cpu: int
    softirq_percent: float | None
    irq_percent: float | None
    steal_percent: float | None
    idle_percent: float | None
    """Idle and iowait together."""
    ticks: int | None
    """Clock ticks that the shares rest on: few ticks, coarse shares."""
    softnet_processed_per_sec: float | None
    softnet_dropped_per_sec: float | None
    softnet_squeezed_per_sec: float | None
    softnet_rps_per_sec: float | None
    net_rx_softirqs_per_sec: float | None
    net_tx_softirqs_per_sec: float | None


@dataclass(frozen=True, slots=True)
class ProtocolRate:
    """Protocol counters over the interval (RFC 1213 and 2012 names in /proc/net/snmp)."""

    tcp_in_segments_per_sec: float | None
    tcp_out_segments_per_sec: float | None
    tcp_retransmits_per_sec: float | None
    udp_in_datagrams_per_sec: float | None
    udp_out_datagrams_per_sec: float | None
    udp_receive_errors_per_sec: float | None


@dataclass(frozen=True, slots=True)
class View:
    """What rules look at. With one sample ``before`` and all rates are absent and ``rates_reason`` says why."""

    before: Snapshot | None
    after: Snapshot
    interval_s: float | None
    rates_reason: str | None
    """Why there are no rates, None where there are."""
    irqs: dict[int, IrqRate]
    irqs_gone: tuple[int, ...]
    irqs_new: tuple[int, ...]
    nics: dict[str, NicRate]
    cpus: dict[int, CpuRate]
    protocols: ProtocolRate | None
    missing: tuple[Missing, ...]
    """What both snapshots and the comparison miss, each once."""
    interval_assumed: bool = False
    """Whether the interval is a default, for the samples carry no clock and nobody said how far apart they are."""
    hypervisor: HypervisorView | None = None
    """None where this machine runs no virtual machines and has no KVM."""
    contention: Contention | None = None
    """Waits counted over the interval, and those of the record of stacks in the later sample."""
    lock_stat: LockStat | None = None
    """That of the later sample: sums since it was last cleared, not of the interval."""

    def rate_of(self, irq: QueueIrq) -> IrqRate | None:
        """Rate of a queue's interrupt; None where it is unknown."""
        return self.irqs.get(irq.irq)

    @property
    def irqbalance(self) -> Irqbalance | None:
        """What is known of irqbalance: by the later sample, or by the earlier where only that knows whether it runs."""
        now = self.after.irqbalance
        old = self.before.irqbalance if self.before is not None else None
        unknown = now is None or now.running is None
        return old if unknown and old is not None and old.running is not None else now

    def moved(self, irq: int) -> bool:
        """Whether an interrupt is placed elsewhere than in the earlier sample; False with one sample."""
        old = self.before.irq(irq) if self.before is not None else None
        new = self.after.irq(irq)
        if old is None or new is None:
            return False
        places = ((old.affinity, new.affinity), (old.effective_affinity, new.effective_affinity))
        return any(first is not None and last is not None and first != last for first, last in places)

    def nic_before(self, nic: Nic) -> Nic | None:
        """The same interface in the earlier sample."""
        return self.before.nic(nic.name) if self.before else None

"""A network interface with everything about it that decides where its packets are worked on."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import QueueIrq, QueueRole

MAX_QUEUE_PAIRS = 0x8000
"""VIRTIO_NET_CTRL_MQ_VQ_PAIRS_MAX (include/uapi/linux/virtio_net.h): what a device says beyond it is not believed."""


@dataclass(frozen=True, slots=True)
class RxQueue:
    """/sys/class/net/NIC/queues/rx-N."""

    index: int
    rps_cpus: CpuSet | None
    """The empty set is "off"; None is unknown."""
    rps_flow_count: int | None


@dataclass(frozen=True, slots=True)
class TxQueue:
    """/sys/class/net/NIC/queues/tx-N. A single-queue device answers ENOENT for xps_cpus: that is None."""

    index: int
    xps_cpus: CpuSet | None
    timeouts: int | None
    """tx_timeout: transmit watchdog firings."""


@dataclass(frozen=True, slots=True)
class Channels:
    """ETHTOOL_MSG_CHANNELS_GET: queues now and at most; None where the driver does not report the kind."""

    combined: int | None = None
    combined_max: int | None = None
    rx: int | None = None
    rx_max: int | None = None
    tx: int | None = None
    tx_max: int | None = None
    other: int | None = None
    other_max: int | None = None

    @property
    def pairs(self) -> int | None:
        """Queue pairs in use: combined plus the smaller of rx and tx; None when nothing is reported."""
        return _pairs(self.combined, self.rx, self.tx)

    @property
    def apart(self) -> bool:
        """Whether receive and transmit queues are counted apart, and none are combined."""
        return not self.combined_max and not self.combined and bool(self.rx or self.tx or self.rx_max or self.tx_max)

    @property
    def indices(self) -> int | None:
        """Queue indices in use in either direction: combined plus the larger of rx and tx; None when not reported."""
        known = [count for count in (self.combined, max(self.rx or 0, self.tx or 0)) if count]
        return sum(known) if known else None

    @property
    def pairs_max(self) -> int | None:
        """Queue pairs that the device offers."""
        return _pairs(self.combined_max, self.rx_max, self.tx_max)


def _pairs(combined: int | None, rx: int | None, tx: int | None) -> int | None:
    apart = min(rx, tx) if rx is not None and tx is not None else None
    known = [count for count in (combined, apart) if count is not None]
    return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class Rings:
    """ETHTOOL_MSG_RINGS_GET: descriptors per queue, now and at most."""

    rx: int | None = None
    rx_max: int | None = None
    tx: int | None = None
    tx_max: int | None = None


@dataclass(frozen=True, slots=True)
class Coalesce:
    """ETHTOOL_MSG_COALESCE_GET; None where the driver does not report the value (which differs from 0)."""

    rx_usecs: int | None = None
    rx_max_frames: int | None = None
    tx_usecs: int | None = None
    tx_max_frames: int | None = None
    adaptive_rx: bool | None = None
    adaptive_tx: bool | None = None


@dataclass(frozen=True, slots=True)
class LinkStatistics:
    """/sys/class/net/NIC/statistics: 64-bit counters (Documentation/ABI/testing/sysfs-class-net-statistics)."""

    rx_packets: int | None
    tx_packets: int | None
    rx_bytes: int | None
    tx_bytes: int | None
    rx_errors: int | None
    tx_errors: int | None
    rx_dropped: int | None
    tx_dropped: int | None
    rx_missed_errors: int | None
    rx_over_errors: int | None
    read_at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """Per-queue counters: netdev netlink QSTATS_GET, and ethtool's driver statistics for kicks (64 bits)."""

    index: int
    rx_packets: int | None = None
    rx_bytes: int | None = None
    rx_drops: int | None = None
    rx_kicks: int | None = None
    """Guest-to-host notifications for refilled receive buffers; each may be a VM exit."""
    tx_packets: int | None = None
    tx_bytes: int | None = None
    tx_drops: int | None = None
    tx_kicks: int | None = None
    """Guest-to-host notifications for packets to send; each may be a VM exit."""
    tx_timeouts: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """What rtnetlink's RTM_GETLINK says and sysfs does not."""

    kind: str | None = None
    """IFLA_INFO_KIND: ``vlan``, ``bond``, ``veth``…; None for a device that is not virtual."""
    qdisc: str | None = None
    tx_queue_count: int | None = None
    rx_queue_count: int | None = None


@dataclass(frozen=True, slots=True)
class Nic:
    """One network interface. The identity is its bus address and MAC address, not its name."""

    name: str
    ifindex: int | None
    mac: str | None
    operstate: str | None
    mtu: int | None
    driver: str | None
    virtio: str | None
    """Name of the virtio device behind it, None where it is not a virtio NIC."""
    bus_address: str | None
    """``0000:00:03.0``; for virtio the parent of the virtio device."""
    node: int | None
    """NUMA node; None for none (the kernel's -1, usual in a VM)."""
    local_cpus: CpuSet | None
    rx_queues: tuple[RxQueue, ...]
    tx_queues: tuple[TxQueue, ...]
    queue_irqs: tuple[QueueIrq, ...]
    """Interrupts with a handler that serve this NIC, ordered by queue index, input before output."""
    lower: tuple[str, ...]
    upper: tuple[str, ...]
    link: Link | None
    channels: Channels | None
    rings: Rings | None
    coalesce: Coalesce | None
    offloads: dict[str, bool] | None
    """Active features by the kernel's names: ``rx-gro``, ``tx-tcp-segmentation``…"""
    statistics: LinkStatistics | None
    queue_statistics: tuple[QueueStatistics, ...] | None
    queue_statistics_read_at_ns: int | None = None
    napi_defer_hard_irqs: int | None = None
    gro_flush_timeout_ns: int | None = None
    threaded_napi: bool | None = None
    driver_statistics: dict[str, int] = field(default_factory=dict)
    """ethtool -S as the driver names them, for the record; rules use ``queue_statistics``."""

    @property
    def queue_pairs(self) -> int:
        """Queue pairs in use: what ethtool says, else the queues whose interrupt has a handler, else sysfs."""
        if self.channels is not None and self.channels.pairs:
            return self.channels.pairs
        seen = {irq.queue for irq in self.queue_irqs if irq.queue is not None}
        return len(seen) or min(len(self.rx_queues), len(self.tx_queues))

    @property
    def queues_in_use(self) -> tuple[int, ...]:
        """Indices of the queues that are switched on, at most MAX_QUEUE_PAIRS.

        virtio_net asks for a vector for every pair at its probe (virtnet_find_vqs()), so interrupts with a handler may
        be more than that: they say which are in use only where ethtool does not.
        """
        if self.channels is not None and self.channels.indices:
            return tuple(range(min(self.channels.indices, MAX_QUEUE_PAIRS)))
        return tuple(sorted(self.pairs())) or tuple(range(min(self.queue_pairs, MAX_QUEUE_PAIRS)))

    @property
    def data_irqs(self) -> tuple[QueueIrq, ...]:
        """Interrupts that move packets: those of queues, and those that serve all queues or the whole device."""
        return tuple(irq for irq in self.queue_irqs if irq.role is not QueueRole.CONFIG)

    @property
    def data_irqs_in_use(self) -> tuple[QueueIrq, ...]:
        """:attr:`data_irqs`, without those of queues that are not switched on."""
        used = set(self.queues_in_use)
        return tuple(irq for irq in self.data_irqs if irq.queue is None or irq.queue in used)

    def irqs_of(self, *roles: QueueRole) -> tuple[QueueIrq, ...]:
        """The interrupts with one of these roles, in queue order."""
        return tuple(irq for irq in self.queue_irqs if irq.role in roles)

    def pairs(self) -> dict[int, tuple[QueueIrq, ...]]:
        """Interrupts by queue pair index; only queues that have an interrupt of their own."""
        pairs: dict[int, tuple[QueueIrq, ...]] = {}
        for irq in self.irqs_of(QueueRole.INPUT, QueueRole.OUTPUT):
            if irq.queue is not None:
                pairs[irq.queue] = (*pairs.get(irq.queue, ()), irq)
        return pairs

    def pairs_in_use(self) -> dict[int, tuple[QueueIrq, ...]]:
        """:meth:`pairs`, without those that are not switched on."""
        used = set(self.queues_in_use)
        return {queue: irqs for queue, irqs in self.pairs().items() if queue in used}

"""Network interfaces: queues and their maps, interrupts, statistics, and what netlink and ethtool add."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import IrqLine, QueueIrq, QueueRole
from tuneagent.model.missing import Reason
from tuneagent.model.nic import Link, LinkStatistics, Nic, QueueStatistics, RxQueue, TxQueue
from tuneagent.model.topology import CpuTopology
from tuneagent.model.virtio import NET_DEVICE_ID, Transport, VirtioDevice
from tuneagent.observe.gaps import Gaps, integer
from tuneagent.parse import cpulist, cpumask, ethtool, irq_actions, links, queue_statistics
from tuneagent.parse.ethtool import EthtoolReport

NET = "/sys/class/net"
FLOW_ENTRIES = "/proc/sys/net/core/rps_sock_flow_entries"
_NAME = re.compile(r"[!-.0-~]{1,15}")
"""dev_valid_name() in net/core/dev.c: no slash, no space, under IFNAMSIZ; we also want printable ASCII."""
_MAC = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){0,31}")
"""MAX_ADDR_LEN (include/linux/netdevice.h) is 32 bytes."""
_QUEUE = re.compile(r"([rt]x)-([0-9]{1,5})")
_COUNTERS = (
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "rx_missed_errors",
    "rx_over_errors",
)
_ROLE_ORDER = tuple(QueueRole)


@dataclass(frozen=True, slots=True)
class Around:
    """What is already known of the machine when its interfaces are looked at."""

    cpus: CpuTopology | None
    irqs: tuple[IrqLine, ...]
    virtio: tuple[VirtioDevice, ...]
    taps: frozenset[str] = frozenset()
    """Interfaces that are virtual machines' and not looked at here."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """Answers of the sources that are no files, for all interfaces at once."""

    links: dict[str, Link]
    ethtool: dict[str, EthtoolReport]
    queues: dict[str, tuple[QueueStatistics, ...]]
    queues_read_at_ns: int | None
    ethtool_read_at_ns: int | None


def observe(gaps: Gaps, around: Around) -> tuple[Nic, ...] | None:
    """All interfaces in natural order of their names; None when /sys/class/net cannot be listed."""
    names = gaps.names("nics", NET)
    if names is None:
        return None
    asked = _ask(gaps)
    return tuple(_nic(gaps, name, around, asked) for name in names if name not in around.taps and _valid(gaps, name))


def again(gaps: Gaps, nic: Nic) -> Nic:
    """A known interface with its packets counted now. What else is told of it is as it was.

    Another device of its name has another ifindex or address; one that is gone has neither.
    """
    path = f"{NET}/{nic.name}"
    return replace(
        nic,
        ifindex=gaps.integer(f"nic.{nic.name}.ifindex", f"{path}/ifindex"),
        mac=_mac(gaps, nic.name, path),
        statistics=_statistics(gaps, nic.name, path),
        queue_statistics=None,
        driver_statistics={},
    )


def flow_entries(gaps: Gaps) -> int | None:
    """Flows of all sockets that RFS remembers (net/core/sysctl_net_core.c); None where there is no such file."""
    # Listed first: that a capture made before anybody asked for it has no such file is no gap either.
    directory, _, name = FLOW_ENTRIES.rpartition("/")
    return gaps.integer("nics.rps_sock_flow_entries", FLOW_ENTRIES) if name in gaps.listed(directory) else None


def _valid(gaps: Gaps, name: str) -> bool:
    if _NAME.fullmatch(name):
        # bonding_masters is a file, not an interface (drivers/net/bonding/bond_sysfs.c)
        return name != "bonding_masters"
    gaps.note("nics", f"{NET}/{name!r}", Reason.MALFORMED, "not a name that the kernel gives to an interface")
    return False


def _ask(gaps: Gaps) -> _Asked:
    link = gaps.captured("nics.link", "links", links.parse)
    report = gaps.captured("nics.ethtool", "ethtool", ethtool.parse)
    queues = gaps.captured("nics.queue_statistics", "queue-statistics", queue_statistics.parse)
    return _Asked(
        links=link[0] if link else {},
        ethtool=report[0] if report else {},
        queues=queues[0] if queues else {},
        queues_read_at_ns=queues[1] if queues else None,
        ethtool_read_at_ns=report[1] if report else None,
    )


def _nic(gaps: Gaps, name: str, around: Around, asked: _Asked) -> Nic:
    path = f"{NET}/{name}"
    listed = gaps.names(f"nic.{name}", path) or ()
    device = _own_device(gaps, path, listed)
    virtio = _virtio(device, around.virtio)
    bus = _bus(device, virtio)
    report = asked.ethtool.get(name)
    rx, tx = _queues(gaps, name, path)
    counts = _queue_counts(name, asked, report)
    _note_faults(gaps, name, report, has_device=bus is not None)
    return Nic(
        name=name,
        ifindex=gaps.integer(f"nic.{name}.ifindex", f"{path}/ifindex"),
        mac=_mac(gaps, name, path),
        operstate=gaps.word(f"nic.{name}.operstate", f"{path}/operstate"),
        mtu=gaps.integer(f"nic.{name}.mtu", f"{path}/mtu"),
        driver=_driver(gaps, device, report),
        virtio=virtio.name if virtio else None,
        bus_address=bus.rsplit("/", 1)[-1] if bus else None,
        node=_node(gaps, name, bus),
        local_cpus=_local_cpus(gaps, name, bus),
        rx_queues=rx,
        tx_queues=tx,
        queue_irqs=_queue_irqs(virtio, around.irqs),
        lower=_neighbours(listed, "lower_"),
        upper=_neighbours(listed, "upper_"),
        link=asked.links.get(name),
        channels=report.channels if report else None,
        rings=report.rings if report else None,
        coalesce=report.coalesce if report else None,
        offloads=report.offloads if report else None,
        statistics=_statistics(gaps, name, path),
        queue_statistics=counts or None,
        queue_statistics_read_at_ns=asked.queues_read_at_ns or asked.ethtool_read_at_ns,
        napi_defer_hard_irqs=gaps.integer(f"nic.{name}.napi_defer_hard_irqs", f"{path}/napi_defer_hard_irqs"),
        gro_flush_timeout_ns=gaps.integer(f"nic.{name}.gro_flush_timeout_ns", f"{path}/gro_flush_timeout"),
        threaded_napi=_flag(gaps.integer(f"nic.{name}.threaded_napi", f"{path}/threaded")),
        driver_statistics=report.statistics or {} if report else {},
    )


def _own_device(gaps: Gaps, path: str, listed: tuple[str, ...]) -> str | None:
    """The device behind an interface; None for one that only borrows that of the interface below it.

    net_failover's master names its standby's device as its own (net_failover_create() in drivers/net/net_failover.c),
    and has neither interrupts nor queues of it.
    """
    device = gaps.link(f"{path}/device") if "device" in listed else None
    below = _neighbours(listed, "lower_") if device is not None else ()
    return None if any(gaps.link(f"{NET}/{name}/device") == device for name in below) else device


def _neighbours(listed: tuple[str, ...], start: str) -> tuple[str, ...]:
    names = (entry.removeprefix(start) for entry in listed if entry.startswith(start))
    return tuple(name for name in names if _NAME.fullmatch(name))


def _note_faults(gaps: Gaps, name: str, report: EthtoolReport | None, *, has_device: bool) -> None:
    for section, fault in report.faults.items() if report else ():
        # That lo or a bridge has no rings is no gap in what is known of it.
        if has_device or fault.reason is not Reason.UNSUPPORTED:
            gaps.note(f"nic.{name}.{section}", "ethtool", fault.reason, fault.detail)


def _virtio(device: str | None, virtio: tuple[VirtioDevice, ...]) -> VirtioDevice | None:
    name = device.rsplit("/", 1)[-1] if device else None
    found = next((entry for entry in virtio if entry.name == name), None)
    return found if found is not None and found.device_id in (NET_DEVICE_ID, None) else None


def _bus(device: str | None, virtio: VirtioDevice | None) -> str | None:
    # For virtio the bus device (PCI function, mmio platform device) is the parent: it has node, msi_irqs and irq.
    if device is None or virtio is None:
        return device
    return device.rsplit("/", 1)[0] or None


def _driver(gaps: Gaps, device: str | None, report: EthtoolReport | None) -> str | None:
    linked = gaps.link(f"{device}/driver") if device else None
    return linked.rsplit("/", 1)[-1] if linked else (report.driver if report else None)


def _mac(gaps: Gaps, name: str, path: str) -> str | None:
    # A device without addresses, such as a tunnel, has an empty one.
    mac = gaps.word(f"nic.{name}.mac", f"{path}/address", blank=True)
    if mac is None or _MAC.fullmatch(mac):
        return mac.lower() if mac else None
    gaps.note(f"nic.{name}.mac", f"{path}/address", Reason.MALFORMED, "not a hardware address")
    return None


def _node(gaps: Gaps, name: str, bus: str | None) -> int | None:
    node = gaps.integer(f"nic.{name}.node", f"{bus}/numa_node", low=-1) if bus else None
    return node if node is not None and node >= 0 else None


def _local_cpus(gaps: Gaps, name: str, bus: str | None) -> CpuSet | None:
    if bus is None:
        return None
    return gaps.parsed(f"nic.{name}.local_cpus", f"{bus}/local_cpulist", cpulist.parse, optional=True) or None


def _flag(value: int | None) -> bool | None:
    return None if value is None else value != 0


def _queues(gaps: Gaps, name: str, path: str) -> tuple[tuple[RxQueue, ...], tuple[TxQueue, ...]]:
    rx: list[RxQueue] = []
    tx: list[TxQueue] = []
    for entry in gaps.names(f"nic.{name}.queues", f"{path}/queues", optional=True) or ():
        match = _QUEUE.fullmatch(entry)
        if match is None:
            continue
        queue, index = f"{path}/queues/{entry}", int(match[2])
        if match[1] == "rx":
            rx.append(_rx_queue(gaps, f"nic.{name}.rx-{index}", queue, index))
        else:
            tx.append(_tx_queue(gaps, f"nic.{name}.tx-{index}", queue, index))
    return tuple(sorted(rx, key=lambda one: one.index)), tuple(sorted(tx, key=lambda one: one.index))


def _rx_queue(gaps: Gaps, what: str, path: str, index: int) -> RxQueue:
    return RxQueue(
        index=index,
        rps_cpus=gaps.parsed(f"{what}.rps_cpus", f"{path}/rps_cpus", cpumask.parse, optional=True),
        rps_flow_count=gaps.integer(f"{what}.rps_flow_count", f"{path}/rps_flow_cnt"),
    )


def _tx_queue(gaps: Gaps, what: str, path: str, index: int) -> TxQueue:
    return TxQueue(
        index=index,
        xps_cpus=gaps.parsed(f"{what}.xps_cpus", f"{path}/xps_cpus", cpumask.parse, optional=True),
        timeouts=gaps.integer(f"{what}.timeouts", f"{path}/tx_timeout"),
    )


def _queue_irqs(virtio: VirtioDevice | None, irqs: tuple[IrqLine, ...]) -> tuple[QueueIrq, ...]:
    # The action's name is the surest map from interrupt to queue; msi_irqs also lists vectors without a handler.
    if virtio is None:
        return ()
    found = [irq for line in irqs if (irq := _queue_irq(virtio, line)) is not None]
    return tuple(sorted(found, key=lambda irq: (irq.queue is None, irq.queue, _ROLE_ORDER.index(irq.role), irq.irq)))


def _queue_irq(virtio: VirtioDevice, line: IrqLine) -> QueueIrq | None:
    for action in line.actions:
        role = irq_actions.queue_role(action, virtio.name)
        if role is None or (line.pci_address and _elsewhere(line.pci_address, virtio)):
            continue
        return QueueIrq(line.irq, role[0], role[1])
    return None


def _elsewhere(pci_address: str, virtio: VirtioDevice) -> bool:
    # Only a chip name that spells another function contradicts; a shared legacy line has no address of its own.
    return virtio.transport is Transport.PCI and pci_address != virtio.bus_address


def _statistics(gaps: Gaps, name: str, path: str) -> LinkStatistics | None:
    values: dict[str, int | None] = {}
    read_at_ns: int | None = None
    for counter in _COUNTERS:
        source = f"{path}/statistics/{counter}"
        text = gaps.text(f"nic.{name}.{counter}", source, optional=True)
        values[counter] = gaps.understood(f"nic.{name}.{counter}", source, text.text, integer) if text else None
        read_at_ns = read_at_ns or (text.read_at_ns if text else None)
    if all(value is None for value in values.values()):
        gaps.note(f"nic.{name}.statistics", f"{path}/statistics", Reason.ABSENT, "no counter could be read")
        return None
    return LinkStatistics(read_at_ns=read_at_ns, **values)


def _queue_counts(name: str, asked: _Asked, report: EthtoolReport | None) -> tuple[QueueStatistics, ...]:
    from_driver = ethtool.queue_statistics(report.statistics or {}) if report else ()
    return queue_statistics.merge(asked.queues.get(name, ()), from_driver)

"""Names of the files and interfaces that evidence rests on, as seen from the system root. Nothing here reads them."""

from __future__ import annotations

INTERRUPTS = "/proc/interrupts"
CPU_TIMES = "/proc/stat"
SOFTNET = "/proc/net/softnet_stat"
ONLINE = "/sys/devices/system/cpu/online"
ISOLATED = "/sys/devices/system/cpu/isolated, /sys/devices/system/cpu/nohz_full"
CHANNELS = "ethtool netlink, ETHTOOL_MSG_CHANNELS_GET"
KICKS = "ethtool statistics, rxN_kicks and txN_kicks"
IRQBALANCE = "/proc/<pid>/comm, /proc/<pid>/cmdline"
ROUTE_NETLINK = "rtnetlink, RTM_GETLINK"


def effective_affinity(irq: int) -> str:
    """Where an interrupt does go."""
    return f"/proc/irq/{irq}/effective_affinity_list"


def affinity(irq: int) -> str:
    """Where an interrupt may go."""
    return f"/proc/irq/{irq}/smp_affinity_list"


def hint(irq: int) -> str:
    """Where the driver would like an interrupt."""
    return f"/proc/irq/{irq}/affinity_hint"


def features(device: str | None) -> str:
    """The features that a virtio device and its driver agreed on."""
    return f"/sys/bus/virtio/devices/{device}/features"


def statistics(nic: str) -> str:
    """The interface's own counters."""
    return f"/sys/class/net/{nic}/statistics"


def transmit_queue(nic: str, queue: int | str, name: str) -> str:
    """A file of one transmit queue."""
    return f"/sys/class/net/{nic}/queues/tx-{queue}/{name}"


def receive_queue(nic: str, queue: int | str, name: str) -> str:
    """A file of one receive queue."""
    return f"/sys/class/net/{nic}/queues/rx-{queue}/{name}"

"""Names of the files and interfaces that evidence rests on, as seen from the system root. Nothing here reads them."""

from __future__ import annotations

from tuneagent.model.hypervisor import KvmSource

INTERRUPTS = "/proc/interrupts"
CPU_TIMES = "/proc/stat"
SOFTNET = "/proc/net/softnet_stat"
ONLINE = "/sys/devices/system/cpu/online"
ISOLATED = "/sys/devices/system/cpu/isolated, /sys/devices/system/cpu/nohz_full"
CHANNELS = "ethtool netlink, ETHTOOL_MSG_CHANNELS_GET"
KICKS = "ethtool statistics, rxN_kicks and txN_kicks"
IRQBALANCE = "/proc/<pid>/comm, /proc/<pid>/cmdline"
ROUTE_NETLINK = "rtnetlink, RTM_GETLINK"
DEFINITION = "libvirt, the running domain's definition"
STORED_DEFINITION = "libvirt, the stored domain definition"
MONITOR = "QEMU's monitor, x-query-virtio-status"
THREAD_TIME = "/proc/<pid>/task/<tid>/schedstat"
THREAD_PLACE = "/proc/<pid>/task/<tid>/status, /proc/<pid>/task/<tid>/stat"
NODES = "/sys/devices/system/node"
VHOST_NET = "/sys/module/vhost_net"
LOCK_COUNTS = "lock:contention_begin, counted by perf_event_open(2)"
LOCK_RECORD = "lock:contention_begin and lock:contention_end, by perf_event_open(2)"
PROFILE = "CPU samples by kernel symbol"


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


def kvm(source: KvmSource) -> str:
    """Where KVM's counters came from."""
    return {
        KvmSource.STATS_FD: "KVM_GET_STATS_FD, QEMU's own descriptors",
        KvmSource.DEBUGFS: "/sys/kernel/debug/kvm",
        KvmSource.DOMSTATS: "libvirt, virConnectGetAllDomainStats",
        KvmSource.NONE: "KVM",
    }[source]


def module_parameter(name: str) -> str:
    """A parameter of a module, by ``module.name``."""
    return f"/sys/module/{name.replace('.', '/parameters/', 1)}"


def tap_queues(name: str) -> str:
    """What says how many queues a tap has."""
    return f"/sys/class/net/{name}/tun_flags, /sys/class/net/{name}/queues"

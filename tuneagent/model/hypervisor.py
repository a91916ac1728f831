"""What a hypervisor shows beside its virtual machines: KVM's counters, the threads, the taps, the module parameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import Domain

EXIT_KINDS = (
    "io_exits",
    "mmio_exits",
    "halt_exits",
    "irq_exits",
    "irq_window_exits",
    "nmi_window_exits",
    "signal_exits",
    "request_irq_exits",
    "hypercalls",
    "notify_window_exits",
    "wfi_exit_stat",
    "wfe_exit_stat",
    "hvc_exit_stat",
    "mmio_exit_user",
    "mmio_exit_kernel",
    "ecall_exit_stat",
    "csr_exit_user",
    "csr_exit_kernel",
    "int_exits",
    "idle_exits",
    "cpucfg_exits",
    "hypercall_exits",
)
"""KVM's names of exits by kind (arch/x86/kvm/x86.c, arch/arm64/kvm/guest.c, arch/riscv/kvm/vcpu.c,
arch/loongarch/kvm/vcpu.c, of which the last counts kinds only). Not all exits have a kind."""
SUM_EXITS = "sum_exits"
"""What powerpc calls ``exits`` since Linux 5.14 (arch/powerpc/kvm/book3s.c)."""
EXIT_FAMILY = "exit_"
"""s390x has no ``exits`` but a family of names that begin so (arch/s390/kvm/kvm-s390.c)."""
OTHER_COUNTERS = (
    "irq_injections",
    "nmi_injections",
    "halt_attempted_poll",
    "halt_successful_poll",
    "halt_poll_invalid",
    "halt_wakeup",
    "halt_poll_success_ns",
    "halt_poll_fail_ns",
    "halt_wait_ns",
    "insn_emulation",
    "preemption_reported",
)
KVM_COUNTERS = ("exits", SUM_EXITS, *EXIT_KINDS, *OTHER_COUNTERS)
"""The counters that are read, besides those of :data:`EXIT_FAMILY`; all grow only."""


def is_exit_kind(name: str) -> bool:
    """Whether a counter of KVM counts exits of one kind."""
    return name in EXIT_KINDS or name.startswith(EXIT_FAMILY)


class KvmSource(StrEnum):
    """Where KVM's counters come from, cheapest first."""

    STATS_FD = "kvm-stats-fd"
    """QEMU's own descriptors of KVM_GET_STATS_FD, shared by pidfd_getfd(2): per vCPU, works under lockdown."""
    DEBUGFS = "debugfs"
    """/sys/kernel/debug/kvm/PID-FD: totals of a virtual machine."""
    DOMSTATS = "domstats"
    """virConnectGetAllDomainStats: per vCPU, at the cost of libvirtd's and QEMU's time."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class KvmCounters:
    """One virtual machine's counters. Names are KVM's; a name that is not there was not told, it is not 0."""

    pid: int | None
    """QEMU's process; None where libvirt told the counters by domain."""
    uuid: str | None
    """The domain, where known."""
    totals: dict[str, int]
    """Over all vCPUs."""
    vcpus: dict[int, dict[str, int]]
    """By vCPU number; empty where only totals are told."""
    read_at_ns: int | None
    exits_are_a_sum: bool = False
    """True where the kernel has no ``exits`` and ``totals["exits"]`` is the sum of the ``exit_*`` family."""
    directories: int | None = None
    """Directories of vCPUs that KVM has of it in debugfs; None where they were not looked at or are none."""

    @property
    def vcpu_count(self) -> int | None:
        """How many vCPUs it has, as far as KVM tells."""
        return len(self.vcpus) or self.directories


class ThreadRole(StrEnum):
    """What a thread does for a virtual machine."""

    EMULATOR = "emulator"
    """QEMU's main thread."""
    VCPU = "vcpu"
    VHOST = "vhost"


@dataclass(frozen=True, slots=True)
class DomainThread:
    """One thread that serves a virtual machine."""

    pid: int
    """QEMU's process that it serves."""
    tid: int
    role: ThreadRole
    index: int | None
    """vCPU number; for vhost workers None: all of a QEMU have one name, so which queue is whose is not told."""
    kernel_thread: bool
    """True for a vhost worker that is a kernel thread of its own (to Linux 6.3): it shares QEMU's control group."""
    affinity: CpuSet | None
    """Where it may run (Cpus_allowed_list of /proc/PID/status)."""
    cpu: int | None
    """Where it ran last (field 39 of /proc/PID/stat)."""
    run_ns: int | None
    """Time on a CPU since it began (field 1 of schedstat)."""
    wait_ns: int | None
    """Time runnable and waiting for a CPU (field 2 of schedstat)."""
    read_at_ns: int | None


@dataclass(frozen=True, slots=True)
class Tap:
    """A tap of the host. Its directions are the guest's mirrored: what the host transmits, the guest receives."""

    name: str
    ifindex: int | None
    multi_queue: bool | None
    """IFF_MULTI_QUEUE of tun_flags; None for a macvtap, which has no such flags and may have any name."""
    queues: int | None
    """Queues that are open (rx-N below the device's queues)."""
    master: str | None
    """The bridge it is a port of."""
    tx_queue_len: int | None
    tx_packets: int | None
    rx_packets: int | None
    tx_bytes: int | None
    rx_bytes: int | None
    tx_dropped: int | None
    """Packets for the guest that found its ring full."""
    rx_dropped: int | None
    read_at_ns: int | None


@dataclass(frozen=True, slots=True)
class QemuProcess:
    """A running QEMU, by its own command line."""

    pid: int
    uuid: str | None
    """``-uuid``, lower case."""
    name: str | None
    """``guest=`` of ``-name``."""


@dataclass(frozen=True, slots=True)
class VirtioStatus:
    """What QEMU's monitor says of a virtio-net device that runs (x-query-virtio-status)."""

    uuid: str
    alias: str
    """libvirt's alias of the interface, ``net0``."""
    features: frozenset[str]
    """Negotiated feature names as QEMU spells them."""
    queues_active: int | None
    """Queue pairs whose virtqueues are set up by the guest."""
    vhost_started: bool | None

    @property
    def event_index(self) -> bool:
        """Whether VIRTIO_RING_F_EVENT_IDX was negotiated."""
        return any("EVENT_IDX" in name for name in self.features)


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Facts about memory that explain exits and stalls; none of them is a fault by itself."""

    ksm_running: bool | None
    ksm_pages_sharing: int | None
    transparent_hugepages: str | None
    """The mode in brackets: ``always``, ``madvise``, ``never``."""
    hugepages_total: int | None
    hugepages_free: int | None


@dataclass(frozen=True, slots=True)
class Hypervisor:
    """The host's side of its virtual machines. A part is None, with its reason in ``Snapshot.missing``, when unseen."""

    domains: tuple[Domain, ...] | None
    """libvirt's domains; None where libvirt did not answer."""
    processes: tuple[QemuProcess, ...] | None
    kvm_source: KvmSource
    kvm: tuple[KvmCounters, ...]
    threads: tuple[DomainThread, ...]
    threads_left_out: int
    """vCPU threads that were not read, because a sample reads a bounded number of them."""
    taps: tuple[Tap, ...]
    parameters: dict[str, str]
    """Module parameters by ``module.name``: ``kvm.halt_poll_ns``; ``vhost_net`` alone where that module is loaded."""
    memory: HostMemory
    virtio: tuple[VirtioStatus, ...] = ()
    """Only where the monitor was allowed to be asked."""

    @property
    def vhost_net(self) -> bool:
        """Whether the vhost_net module is there."""
        return "vhost_net" in self.parameters

    def parameter(self, name: str) -> int | None:
        """A module parameter that is a decimal number; None where it is absent or something else."""
        text = self.parameters.get(name, "")
        return int(text) if text.isascii() and text.isdecimal() else None


QEMU_NAMES = frozenset(
    {
        "qemu-kvm",
        "kvm",
        "qemu-system-x86",
        "qemu-system-aar",
        "qemu-system-arm",
        "qemu-system-ppc",
        "qemu-system-s39",
        "qemu-system-ris",
        "qemu-system-loo",
    }
)
"""What the kernel has as QEMU's name (comm, at most 15 characters) where libvirt or a distribution starts it."""

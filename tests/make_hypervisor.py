"""Small hypervisors built in memory, for tests of pure code. Every value differs from its neighbours on purpose.

One virtual machine, ``web1``: two vCPUs, QEMU in process 4242, one virtio NIC on tap ``vnet0`` with a vhost worker.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import (
    DomainView,
    Guest,
    HypervisorView,
    JoinedNic,
    JoinedRates,
    KvmRate,
    TapRate,
    ThreadRate,
)
from tuneagent.model.hypervisor import (
    DomainThread,
    HostMemory,
    Hypervisor,
    KvmCounters,
    KvmSource,
    QemuProcess,
    Tap,
    ThreadRole,
    VirtioStatus,
)
from tuneagent.model.identity import Identity, Role
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View

UUID = "11111111-2222-3333-4444-555555555555"
"""That of :func:`domain`, and of the guest that :func:`tests.make.snapshot` is."""
MAC = "52:54:00:12:34:56"
"""That of :func:`domain_interface`, and of :func:`tests.make.nic`."""
PID = 4242
EMULATOR_TID = PID
VCPU_TIDS = (4251, 4252)
VHOST_TID = 4260


def domain_interface(**changes: Any) -> DomainInterface:
    """A virtio interface on bridge br0 with vhost-net and two queue pairs, whose host device is vnet0."""
    base = DomainInterface(
        position=0,
        type="bridge",
        mac=MAC,
        model="virtio",
        source="br0",
        target="vnet0",
        alias="net0",
        address="0000:00:03.0",
        driver_name=None,
        queues=2,
        event_idx=None,
        ioeventfd=None,
        packed=None,
        txmode=None,
        rx_queue_size=None,
        tx_queue_size=None,
        teaming=None,
        link_up=None,
        xml=(
            f'<interface type="bridge"><mac address="{MAC}"/><source bridge="br0"/><target dev="vnet0"/>'
            '<model type="virtio"/><driver queues="2"/><alias name="net0"/>'
            '<address type="pci" domain="0x0000" bus="0x00" slot="0x03" function="0x0"/></interface>'
        ),
    )
    return replace(base, **changes)


def domain(**changes: Any) -> Domain:
    """web1: running, two vCPUs on host CPUs 2 and 3, the emulator on 0 and 1, one interface."""
    base = Domain(
        uuid=UUID,
        name="web1",
        uri="qemu:///system",
        running=True,
        state="running",
        type="kvm",
        vcpus=2,
        vcpus_max=2,
        vcpu_cpus=None,
        vcpu_pins={0: CpuSet.of([2]), 1: CpuSet.of([3])},
        emulator_pin=CpuSet.of([0, 1]),
        memory_kib=2_097_152,
        memory_nodes=None,
        hugepages=False,
        numa_cells=0,
        guest_agent=True,
        interfaces=(domain_interface(),),
    )
    return replace(base, **changes)


def kvm_counters(**changes: Any) -> KvmCounters:
    """Totals of both vCPUs of web1, and each vCPU's own."""
    vcpus = {
        0: {"exits": 70_000, "io_exits": 4_000, "mmio_exits": 300, "halt_exits": 20_000, "irq_injections": 11_000},
        1: {"exits": 50_000, "io_exits": 3_000, "mmio_exits": 200, "halt_exits": 16_000, "irq_injections": 7_000},
    }
    totals = {name: sum(vcpu[name] for vcpu in vcpus.values()) for name in vcpus[0]}
    return replace(KvmCounters(PID, UUID, totals, vcpus, None), **changes)


def domain_thread(role: ThreadRole = ThreadRole.VHOST, index: int | None = None, **changes: Any) -> DomainThread:
    """The emulator's main thread, vCPU ``index``, or the vhost worker of web1: a thread of QEMU on its own CPU."""
    tid, cpu = {
        ThreadRole.EMULATOR: (EMULATOR_TID, 0),
        ThreadRole.VCPU: (VCPU_TIDS[0] + (index or 0), 2 + (index or 0)),
        ThreadRole.VHOST: (VHOST_TID, 1),
    }[role]
    affinity = CpuSet.of([cpu]) if role is ThreadRole.VCPU else CpuSet.of([0, 1])
    base = DomainThread(PID, tid, role, index, False, affinity, cpu, 5_000_000_000 + tid, 70_000_000 + tid, None)
    return replace(base, **changes)


def domain_threads() -> tuple[DomainThread, ...]:
    """All four threads of web1."""
    return (
        domain_thread(ThreadRole.EMULATOR),
        domain_thread(ThreadRole.VCPU, 0),
        domain_thread(ThreadRole.VCPU, 1),
        domain_thread(ThreadRole.VHOST),
    )


def tap(**changes: Any) -> Tap:
    """vnet0, with as many queues as the definition says."""
    base = Tap("vnet0", 17, True, 2, "br0", 1000, 900_000, 500_000, 90_000_000, 40_000_000, 30, 2, None)
    return replace(base, **changes)


def host_memory(**changes: Any) -> HostMemory:
    """KSM off, transparent huge pages on request, no huge pages."""
    return replace(HostMemory(False, 0, "madvise", 0, 0), **changes)


def hypervisor(**changes: Any) -> Hypervisor:
    """A host with web1, its counters from QEMU's own descriptors, vhost_net loaded, halt polling by default."""
    base = Hypervisor(
        domains=(domain(),),
        processes=(QemuProcess(PID, UUID, "web1"),),
        kvm_source=KvmSource.STATS_FD,
        kvm=(kvm_counters(),),
        threads=domain_threads(),
        threads_left_out=0,
        taps=(tap(),),
        parameters={"kvm.halt_poll_ns": "200000", "vhost_net": "", "vhost_net.experimental_zcopytx": "0"},
        memory=host_memory(),
    )
    return replace(base, **changes)


def host(cpus: int = 4, **changes: Any) -> Snapshot:
    """The snapshot of a bare machine with :func:`hypervisor` and no virtio device of its own."""
    identity = Identity("99999999-8888-7777-6666-555555555555", "h", "6.12.0", "x86_64", None, None, Role.HYPERVISOR)
    return make.snapshot(
        cpus, **{"identity": identity, "irqs": (), "virtio": (), "nics": (), "hypervisor": hypervisor(), **changes}
    )


def kvm_rate(**changes: Any) -> KvmRate:
    """60,000 exits/s, of which the kinds are a part, from two vCPUs that differ."""
    vcpus = {
        0: {"exits": 35_000.0, "io_exits": 2_000.0, "mmio_exits": 150.0, "halt_exits": 10_000.0},
        1: {"exits": 25_000.0, "io_exits": 1_500.0, "mmio_exits": 100.0, "halt_exits": 8_000.0},
    }
    totals = {name: sum(vcpu[name] for vcpu in vcpus.values()) for name in vcpus[0]}
    base = KvmRate(KvmSource.STATS_FD, make.SECONDS, {**totals, "irq_injections": 9_000.0}, vcpus)
    return replace(base, **changes)


def thread_rate(thread: DomainThread | None = None, **changes: Any) -> ThreadRate:
    """A thread that runs 40 % of the time and waits 1.5 %."""
    return replace(ThreadRate(thread or domain_thread(), 40.0, 1.5, False), **changes)


def thread_rates() -> tuple[ThreadRate, ...]:
    """The four threads of web1, each busy in its own measure."""
    shares = ((3.0, 0.25), (62.0, 0.75), (48.0, 0.5), (40.0, 1.5))
    return tuple(
        ThreadRate(thread, run, wait, False) for thread, (run, wait) in zip(domain_threads(), shares, strict=True)
    )


def tap_rate(**changes: Any) -> TapRate:
    """vnet0 under the load of :func:`tests.make.nic_rate`: 40,000 packets/s to the guest, 20,000 from it, no drops."""
    base = TapRate(tap(), domain_interface(), 40_000.0, 20_000.0, 4e6, 3e6, 0.0, 0.0)
    return replace(base, **changes)


def virtio_status(**changes: Any) -> VirtioStatus:
    """net0 with the event index negotiated, two queue pairs set up, vhost started."""
    features = frozenset({"VIRTIO_RING_F_EVENT_IDX: Used & avail. event fields enabled", "VIRTIO_NET_F_MQ: multiqueue"})
    return replace(VirtioStatus(UUID, "net0", features, 2, True), **changes)


def domain_view(**changes: Any) -> DomainView:
    """web1 over the interval: running, with its rates, threads and tap, its guest not asked."""
    base = DomainView(
        key=UUID,
        name="web1",
        pid=PID,
        definition=domain(),
        kvm=kvm_rate(),
        kvm_reason=None,
        threads=thread_rates(),
        taps=(tap_rate(),),
    )
    return replace(base, **changes)


def hypervisor_view(*domains: DomainView, **changes: Any) -> HypervisorView:
    """These virtual machines (web1 alone when none is given), none of which came or went."""
    return replace(HypervisorView(domains or (domain_view(),), (), (), ()), **changes)


def host_view(*domains: DomainView, after: Snapshot | None = None, **changes: Any) -> View:
    """Two samples of :func:`host` 2 s apart, with :func:`hypervisor_view` of these virtual machines."""
    hypervisor = changes.pop("hypervisor", None) or hypervisor_view(*domains)
    return make.view(after or host(), **{"nics": {}, "hypervisor": hypervisor, **changes})


def joined_rates(**changes: Any) -> JoinedRates:
    """All five rates known."""
    return replace(JoinedRates(1.02, 0.08, 0.9, 3.5, 6.7, {}), **changes)


def joined_nic(**changes: Any) -> JoinedNic:
    """eth0 of the guest over vnet0 of the host."""
    base = JoinedNic(domain_interface(), tap_rate(), make.nic(2), make.nic_rate(2))
    return replace(base, **changes)


def guest(**changes: Any) -> Guest:
    """web1's own view, joined by its product UUID."""
    base = Guest(
        origin="guest agent (guest-exec)",
        view=make.view(queues=2),
        joined_by="product UUID",
        nics=(joined_nic(),),
        rates=joined_rates(),
    )
    return replace(base, **changes)

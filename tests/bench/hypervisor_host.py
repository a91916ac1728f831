"""A hypervisor of N virtual machines with 8 vCPUs each, as files and as what the sources that are no files say."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuneagent.machine.live import Live
from tuneagent.machine.source import Captured, Text
from tuneagent.model.errors import SourceError
from tuneagent.model.hypervisor import KVM_COUNTERS
from tuneagent.model.missing import Reason

VCPUS = 8
FIRST_PID = 10_000
OTHER_THREADS = ("IO mon_iothread", "SPICE Worker", "vnc_worker", "worker", "kvm-nx-lpage-re", "qemu-system-x86")
OTHER_COUNTERS = ("pf_taken", "pf_fixed", "pf_emulate", "pf_spurious", "pf_fast", "tlb_flush", "invlpg", "fpu_reload",
    "host_state_reload", "l1d_flush", "nested_run", "directed_yield_attempted", "directed_yield_successful",
    "guest_mode", "preemption_other", "efer_reload", "blocking", "pages_4k", "pages_2m", "pages_1g", "mmu_cache_miss",
    "remote_tlb_flush", "max_mmu_rmap_size", "nx_lpage_splits")  # fmt: skip
"""Of KVM on x86 besides those that are read: about fifty in all."""
ARM_ONLY = {"wfi_exit_stat", "wfe_exit_stat", "hvc_exit_stat", "mmio_exit_user", "mmio_exit_kernel"}
COUNTERS = (*(name for name in KVM_COUNTERS if name not in ARM_ONLY), *OTHER_COUNTERS)
_STATUS = "".join(f"Line{number}:\t{number * 4096} kB\n" for number in range(30))


@dataclass(frozen=True, slots=True)
class Host:
    """One moment of it. Virtual machine n has process ``FIRST_PID + 20 * n`` and the tap ``vnetN``."""

    machines: int
    moment: int = 0
    debugfs: bool = True

    def pid(self, machine: int) -> int:
        """QEMU's process."""
        return FIRST_PID + 20 * machine

    def write(self, root: Path) -> Path:
        """All files below ``root``."""
        for name, text in self.files():
            file = root / name.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return root

    def files(self) -> Iterator[tuple[str, str]]:
        """(path, text) of everything in /proc and /sys that is looked at, and of what lies beside it."""
        yield "/proc/1/comm", "systemd\n"
        yield "/sys/devices/system/cpu/online", "0-255\n"
        yield "/sys/module/kvm/parameters/halt_poll_ns", "200000\n"
        yield "/sys/module/vhost_net/parameters/experimental_zcopytx", "0\n"
        for machine in range(self.machines):
            yield from self._process(machine)
            yield from self._tap(machine)
            if self.debugfs:
                yield from self._counters(machine)

    def _process(self, machine: int) -> Iterator[tuple[str, str]]:
        pid = self.pid(machine)
        yield f"/proc/{pid}/comm", "qemu-system-x86\n"
        command = [
            "/usr/bin/qemu-system-x86_64",
            "-name",
            f"guest=vm{machine},debug-threads=on",
            "-uuid",
            uuid(machine),
        ]
        filling = [f'-device {{"driver":"pcie-root-port","port":{port},"id":"pci.{port}"}}' for port in range(60)]
        yield f"/proc/{pid}/cmdline", "\0".join([*command, *filling]) + "\0"
        yield from self._thread(f"/proc/{pid}", pid, "qemu-system-x86")
        names = [*(f"CPU {vcpu}/KVM" for vcpu in range(VCPUS)), f"vhost-{pid}", *OTHER_THREADS]
        for tid, name in enumerate(names, pid + 1):
            yield f"/proc/{pid}/task/{tid}/comm", f"{name}\n"
            yield from self._thread(f"/proc/{pid}/task/{tid}", tid, name)
        yield f"/proc/{pid}/task/{pid}/comm", "qemu-system-x86\n"

    def _thread(self, path: str, tid: int, name: str) -> Iterator[tuple[str, str]]:
        numbers = " ".join(str(number * 97 + self.moment) for number in range(5, 39))
        yield f"{path}/stat", f"{tid} ({name}) S 1 {numbers} {self._cpu(tid)} 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        yield f"{path}/schedstat", f"{tid * 1_000_003 + self.moment * 10**8} {tid * 1_003 + self.moment} 77\n"
        yield f"{path}/status", f"Name:\t{name}\nTgid:\t{tid}\n{_STATUS}Cpus_allowed_list:\t0-255\nMems_allowed:\t1\n"

    def _cpu(self, tid: int) -> int:
        """Every fourth thread has moved from one moment to the next."""
        return (tid + (self.moment if tid % 4 == 0 else 0)) % 256

    def _counters(self, machine: int) -> Iterator[tuple[str, str]]:
        path = f"/sys/kernel/debug/kvm/{self.pid(machine)}-14"
        for place, name in enumerate(COUNTERS):
            yield f"{path}/{name}", f"{self._count(machine, place)}\n"
        yield f"{path}/halt_wait_hist", "0 1 2 3 4\n"
        for vcpu in range(VCPUS):
            yield f"{path}/vcpu{vcpu}/tsc-offset", "-12345\n"

    def _count(self, machine: int, place: int) -> int:
        return 1_000_003 * (place + 1) + 7 * machine + self.moment * (place + 1) * 1000

    def _tap(self, machine: int) -> Iterator[tuple[str, str]]:
        path = f"/sys/class/net/vnet{machine}"
        yield f"{path}/ifindex", f"{10 + machine}\n"
        yield f"{path}/tun_flags", "0x5102\n"
        yield f"{path}/tx_queue_len", "1000\n"
        yield f"{path}/queues/rx-0/rps_cpus", "0\n"
        for name, value in self._statistics(machine).items():
            yield f"{path}/statistics/{name}", f"{value}\n"

    def _statistics(self, machine: int) -> dict[str, int]:
        names = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_dropped", "tx_dropped")
        return {name: self._count(machine, place) for place, name in enumerate(names)}

    def captured(self, *names: str) -> dict[str, Any]:
        """What these sources say: ``domains``, ``links``, ``kvm-statistics``, ``domain-statistics``."""
        makers = {
            "domains": self._domains,
            "links": self._links,
            "kvm-statistics": self._kvm_statistics,
            "domain-statistics": self._domain_statistics,
        }
        return {name: makers[name]() for name in names}

    def _domains(self) -> dict[str, Any]:
        domains = [{"state": "running", "xml": xml(machine), "inactive_xml": None} for machine in range(self.machines)]
        return {"connections": [{"uri": "qemu:///system", "error": None, "domains": domains}]}

    def _links(self) -> list[dict[str, Any]]:
        tap = {"type": 2, "vnet_hdr": True, "multi_queue": True, "queues": 4, "master": None, "tx_queue_len": 1000}
        return [
            {"ifindex": 10 + machine, "name": f"vnet{machine}", "kind": "tun", "qdisc": "mq", "tx_queues": 256,
             "rx_queues": 256, "tap": tap | {"statistics": self._statistics(machine)}}
            for machine in range(self.machines)
        ]  # fmt: skip

    def _record(self, machine: int) -> dict[str, int]:
        return {name: self._count(machine, place) for place, name in enumerate(COUNTERS)}

    def _kvm_statistics(self) -> dict[str, Any]:
        return {
            str(self.pid(machine)): {"vcpus": {str(vcpu): self._record(machine) for vcpu in range(VCPUS)}}
            for machine in range(self.machines)
        }

    def _domain_statistics(self) -> dict[str, Any]:
        return {
            uuid(machine): {
                f"vcpu.{vcpu}.{name}.sum": value
                for vcpu in range(VCPUS)
                for name, value in self._record(machine).items()
            }
            for machine in range(self.machines)
        }


def uuid(machine: int) -> str:
    """The UUID of a virtual machine."""
    return f"4dea22b3-1d52-d8f3-2516-{machine:012x}"


def xml(machine: int) -> str:
    """Its definition, of the usual size: disks, controllers, one interface of four queues."""
    pins = "".join(f"<vcpupin vcpu='{vcpu}' cpuset='{vcpu * 2}-{vcpu * 2 + 1}'/>" for vcpu in range(VCPUS))
    ports = "".join(
        f"<controller type='pci' index='{port}' model='pcie-root-port'><model name='pcie-root-port'/>"
        f"<target chassis='{port}' port='0x{port:x}'/><alias name='pci.{port}'/>"
        f"<address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x{port % 8}'/></controller>"
        for port in range(14)
    )
    return (
        f"<domain type='kvm' id='{machine + 1}'><name>vm{machine}</name><uuid>{uuid(machine)}</uuid>"
        f"<memory unit='KiB'>8388608</memory><vcpu placement='static'>{VCPUS}</vcpu><cputune>{pins}</cputune>"
        f"<os><type arch='x86_64' machine='pc-q35-8.2'>hvm</type></os><devices>{ports}"
        "<disk type='file' device='disk'><driver name='qemu' type='qcow2' queues='4'/><source file='/d.qcow2'/>"
        "<target dev='vda' bus='virtio'/></disk>"
        f"<interface type='bridge'><mac address='52:54:00:00:{machine >> 8 & 255:02x}:{machine & 255:02x}'/>"
        f"<source bridge='br0'/><target dev='vnet{machine}'/><model type='virtio'/><driver name='vhost' queues='4'/>"
        "<alias name='net0'/><address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></interface>"
        "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0' state='connected'/></channel>"
        "</devices></domain>"
    )


class Rooted(Live):
    """The running machine's Source with every path moved below a directory by putting its name in front.

    A captured tree is walked part by part, so that no link in it leads out: that costs several times what opening a
    file of the running machine does. Here a file costs what it costs there, but for what the kernel needs to make its
    text. What is no file is given as values, for to ask libvirt or rtnetlink is measured elsewhere.
    """

    def __init__(self, top: Path, values: dict[str, Any]) -> None:
        super().__init__()
        self._top = str(top)
        self._values = values

    def forget(self) -> None:
        """Lets the next sample list the processes anew, as one that is taken seconds later does."""
        self._listing = None

    def read(self, path: str) -> Text:
        return super().read(self._top + path)

    def names(self, path: str) -> tuple[str, ...]:
        return super().names(self._top + path)

    def link(self, path: str) -> str:
        return super().link(self._top + path)

    def writable_mode(self, path: str) -> bool:
        return super().writable_mode(self._top + path)

    def captured(self, name: str) -> Captured:
        if name not in self._values:
            raise SourceError(name, Reason.ABSENT, "no such source")
        return Captured(self._values[name], time.monotonic_ns())

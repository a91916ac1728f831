"""A KVM hypervisor and its virtual machines written down as a tree of files. No two counters are equal.

A :class:`Host` is one moment; :meth:`Host.after` is the same host when its machines' loads have passed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.trees import MAC, UUID, Guest

SECONDS = 2
START_NS = 5_000_000_000
NO_VIRTIO = ("/sys/devices/pci", "/sys/bus/virtio", "/proc/irq/", "/sys/kernel/irq/", "/captured/")
URI = "qemu:///system"


@dataclass(frozen=True, slots=True)
class Work:
    """What a virtual machine does within the two seconds."""

    exits: int
    io_exits: int
    halt_exits: int
    to_guest: int
    from_guest: int
    dropped: int = 0
    vcpu_ms: int = 400
    vhost_ms: int = 300
    vhost_wait_ms: int = 4


@dataclass(frozen=True, slots=True)
class Machine:
    """One libvirt domain with one virtio NIC."""

    name: str
    number: int
    work: Work
    vcpus: int = 2
    queues: int | None = 2
    driver: str | None = None
    """``name`` of ``<driver>``."""
    event_idx: str | None = None
    pinned: bool = True
    agent: bool = True
    inside: bool = False
    """Whether it is the virtual machine of which :class:`tests.trees.Guest` is the inside."""
    done: int = 0
    """How often its work is done."""

    @property
    def uuid(self) -> str:
        """Of its definition and its process."""
        return UUID if self.inside else f"{self.number:08x}-1111-2222-3333-444444444444"

    @property
    def mac(self) -> str:
        """Of its NIC."""
        return MAC if self.inside else f"52:54:00:00:00:{self.number:02x}"

    @property
    def pid(self) -> int:
        """Of its QEMU."""
        return 4000 + 100 * self.number

    @property
    def tap(self) -> str:
        """The host's end of its NIC."""
        return f"vnet{self.number}"

    @property
    def vhost(self) -> bool:
        """Whether the kernel moves its packets."""
        return self.driver != "qemu"

    def cpu(self, vcpu: int) -> int:
        """The host's CPU of a vCPU."""
        return 2 + (2 * self.number + vcpu) % 6

    def definition(self) -> str:
        """Its XML, as libvirt gives it while it runs."""
        words = {"name": self.driver, "queues": self.queues, "event_idx": self.event_idx}
        driver = " ".join(f"{key}='{word}'" for key, word in words.items() if word is not None)
        pins = "".join(f"<vcpupin vcpu='{one}' cpuset='{self.cpu(one)}'/>" for one in range(self.vcpus))
        tuning = f"<cputune>{pins}<emulatorpin cpuset='0-1'/></cputune>" if self.pinned else ""
        state = "connected" if self.agent else "disconnected"
        return (
            f"<domain type='kvm' id='{self.number}'>\n  <name>{self.name}</name>\n  <uuid>{self.uuid}</uuid>\n"
            f"  <memory unit='KiB'>{1_048_576 * self.number}</memory>\n"
            f"  <vcpu placement='static'>{self.vcpus}</vcpu>\n  {tuning}\n  <devices>\n"
            f"    <interface type='bridge'>\n      <mac address='{self.mac}'/>\n      <source bridge='br0'/>\n"
            f"      <target dev='{self.tap}'/>\n      <model type='virtio'/>\n      <driver {driver}/>\n"
            "      <alias name='net0'/>\n"
            "      <address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/>\n    </interface>\n"
            "    <channel type='unix'>\n"
            f"      <target type='virtio' name='org.qemu.guest_agent.0' state='{state}'/>\n    </channel>\n"
            "  </devices>\n</domain>\n"
        )

    def counters(self) -> dict[str, dict[str, int]]:
        """KVM's, by vCPU: the first has half as much again as the others."""
        shares = [3, *[2] * (self.vcpus - 1)]
        told = {"exits": self.work.exits, "io_exits": self.work.io_exits, "halt_exits": self.work.halt_exits}
        return {
            str(vcpu): {
                name: 1_000 * self.number + 10 * vcpu + place + self.done * count * share // sum(shares)
                for place, (name, count) in enumerate(told.items())
            }
            for vcpu, share in enumerate(shares)
        }

    def threads(self) -> Iterator[tuple[str, int, int, int, str]]:
        """(name, tid, ms run, ms waited, where it may run) of each."""
        free = "0-7"
        yield "qemu-system-x86", self.pid, 20, 1, "0-1" if self.pinned else free
        for vcpu in range(self.vcpus):
            place = str(self.cpu(vcpu)) if self.pinned else free
            yield f"CPU {vcpu}/KVM", self.pid + 11 + vcpu, self.work.vcpu_ms + vcpu, 2 + vcpu, place
        if self.vhost:
            place = "0-1" if self.pinned else free
            yield f"vhost-{self.pid}", self.pid + 31, self.work.vhost_ms, self.work.vhost_wait_ms, place

    def statistics(self) -> dict[str, int]:
        """Of the tap, whose directions are the guest's mirrored."""
        done, base = self.done, 10_000 * self.number
        return {
            "tx_packets": base + 1 + done * self.work.to_guest,
            "rx_packets": base + 2 + done * self.work.from_guest,
            "tx_bytes": 60 * base + 3 + done * 900 * self.work.to_guest,
            "rx_bytes": 70 * base + 4 + done * 80 * self.work.from_guest,
            "tx_dropped": 5 + self.number + done * self.work.dropped,
            "rx_dropped": self.number,
        }


@dataclass(frozen=True, slots=True)
class Host:
    """One moment of a bare machine with eight CPUs and a bridge, and no virtio device of its own."""

    machines: tuple[Machine, ...]
    parameters: Mapping[str, str] = field(default_factory=lambda: {"kvm/halt_poll_ns": "200000"})
    clock_ns: int = START_NS

    def after(self) -> Host:
        """When every machine has done its work."""
        machines = tuple(replace(one, done=one.done + 1) for one in self.machines)
        return replace(self, machines=machines, clock_ns=self.clock_ns + SECONDS * 10**9)

    def write(self, root: Path) -> Path:
        """The tree below ``root``, which is made; gives it back."""
        for path, text in self.files().items():
            file = root / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for path, target in self.links().items():
            (root / path.lstrip("/")).symlink_to(target)
        return root

    def files(self) -> dict[str, str]:
        """Every file's text by its path."""
        parts = (self._bare(), self._settings(), self._captured(), self._taps(), self._processes())
        return {path: text for part in parts for path, text in part}

    def links(self) -> dict[str, str]:
        """Every link's target by its path."""
        return {f"/sys/class/net/{one.tap}/master": "../br0" for one in self.machines}

    def _bare(self) -> Iterator[tuple[str, str]]:
        passed = (self.clock_ns - START_NS) * 100 // 10**9
        times = tuple((100 + cpu, 3, 200 + cpu, 9_000 + cpu + passed, 5, 1, 40 + cpu, 0, 2, 1) for cpu in range(8))
        for path, text in Guest(cpus=8, queues=1, times=times).files().items():
            if not path.startswith(NO_VIRTIO):
                yield path, text
        yield "/proc/interrupts", "            CPU0       CPU1\n LOC:       7001       7002   Local timer interrupts\n"
        yield "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu msr vmx\n\n"
        yield "/sys/class/dmi/id/product_uuid", "99999999-8888-7777-6666-555555555555\n"
        yield "/sys/class/dmi/id/product_name", "PowerEdge\n"
        yield "/sys/class/dmi/id/sys_vendor", "Dell Inc.\n"
        yield "/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n"

    def _settings(self) -> Iterator[tuple[str, str]]:
        for name, value in self.parameters.items():
            module, _, parameter = name.partition("/")
            yield f"/sys/module/{module}/parameters/{parameter}", f"{value}\n"
        yield "/sys/module/vhost_net/refcnt", "3\n"
        yield "/sys/kernel/mm/ksm/run", "0\n"
        yield "/sys/kernel/mm/ksm/pages_sharing", "0\n"
        yield "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"
        yield "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n"
        yield "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "12\n"

    def _captured(self) -> Iterator[tuple[str, str]]:
        clock = {"monotonic_ns": self.clock_ns, "boottime_ns": self.clock_ns + 7, "realtime_ns": 10**18 + self.clock_ns}
        domains = [{"state": "running", "xml": one.definition(), "inactive_xml": None} for one in self.machines]
        names = [("lo", None), ("br0", "bridge"), *((one.tap, "tun") for one in self.machines)]
        links: list[dict[str, Any]] = [
            {"ifindex": place, "name": name, "kind": kind, "qdisc": "noqueue", "tx_queues": 1, "rx_queues": 1}
            for place, (name, kind) in enumerate(names, 1)
        ]
        values = {
            "clock": clock,
            "domains": {"connections": [{"uri": URI, "error": None, "domains": domains}]},
            "kvm-statistics": {str(one.pid): {"vcpus": one.counters()} for one in self.machines},
            "links": links,
            "ethtool": {},
            "queue-statistics": {},
            "lock-contention": {"opened_at_ns": 77, "per_cpu": {"0": 310, "1": 420}, "spin": "from-third"},
            "units": {"irqbalance.service": {"ActiveState": "inactive", "SubState": "dead", "LoadState": "loaded"}},
        }
        for name, value in values.items():
            yield f"/captured/{name}.json", json.dumps(value)

    def _taps(self) -> Iterator[tuple[str, str]]:
        yield from _interface("br0", 2, {name: 31 + place for place, name in enumerate(_STATISTICS)})
        for one in self.machines:
            numbers = dict.fromkeys(_STATISTICS, 0) | one.statistics()
            yield from _interface(one.tap, 2 + one.number, numbers)
            yield f"/sys/class/net/{one.tap}/tun_flags", "0x5102\n" if (one.queues or 1) > 1 else "0x5002\n"
            yield f"/sys/class/net/{one.tap}/tx_queue_len", f"{1_000 + one.number}\n"
            for queue in range(one.queues or 1):
                yield f"/sys/class/net/{one.tap}/queues/rx-{queue}/rps_cpus", "0\n"
                yield f"/sys/class/net/{one.tap}/queues/tx-{queue}/tx_timeout", "0\n"

    def _processes(self) -> Iterator[tuple[str, str]]:
        for one in self.machines:
            words = ("qemu-system-x86_64", "-name", f"guest={one.name},debug-threads=on", "-uuid", one.uuid)
            yield f"/proc/{one.pid}/cmdline", "\0".join(words) + "\0"
            for name, tid, run, wait, affinity in one.threads():
                own = [f"/proc/{one.pid}/task/{tid}", *([f"/proc/{tid}"] if tid == one.pid else [])]
                for directory in own:
                    yield from _task(directory, name, tid, (run, wait, one.done), affinity)


_STATISTICS = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped",
               "rx_missed_errors", "rx_over_errors")  # fmt: skip


def _interface(name: str, index: int, statistics: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    directory = f"/sys/class/net/{name}"
    words = {"ifindex": index, "address": f"fe:54:00:00:00:{index:02x}", "operstate": "up", "mtu": 1500,
             "napi_defer_hard_irqs": 0, "gro_flush_timeout": 0, "threaded": 0}  # fmt: skip
    for word, value in words.items():
        yield f"{directory}/{word}", f"{value}\n"
    for counter, value in statistics.items():
        yield f"{directory}/statistics/{counter}", f"{value}\n"


def _task(directory: str, name: str, tid: int, times: tuple[int, int, int], affinity: str) -> Iterator[tuple[str, str]]:
    run, wait, done = times
    cpu = affinity.partition("-")[0]
    fields = ["S", "1", *(str(number) for number in range(3, 37)), cpu, "0", "0"]
    yield f"{directory}/comm", f"{name}\n"
    yield f"{directory}/stat", f"{tid} ({name}) {' '.join(fields)}\n"
    yield f"{directory}/schedstat", f"{(tid + run * done) * 10**6} {(7 + wait * done) * 10**6} {tid}\n"
    yield f"{directory}/status", f"Name:\t{name}\nTgid:\t{tid}\nCpus_allowed_list:\t{affinity}\n"

"""A virtio guest written down as a tree of files, as sysfs and procfs lay them out. No two counters start equal.

A :class:`Guest` is one moment; :meth:`Guest.after` is the same guest when a :class:`Load` has passed over it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

MAC = "52:54:00:12:34:56"
UUID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
BOOT = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
FIRST_IRQ = 30
PCI = "0000:00:03.0"
TICKS_PER_SECOND = 100
START_NS = 5_000_000_000
FEATURES = frozenset({0, 1, 5, 15, 16, 17, 22, 28, 29, 32})
PID = 412
NUMBERS = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped",
           "rx_missed_errors", "rx_over_errors")  # fmt: skip
STATISTICS = {name: 900_001 + 1_017 * position for position, name in enumerate(NUMBERS)}


class Wiring(Enum):
    """How many interrupts the NIC has, and of which kind."""

    OWN_VECTORS = "MSI-X: one for the configuration, one for each virtqueue"
    SHARED_VECTOR = "MSI-X: one for the configuration, one for all virtqueues"
    LEGACY_LINE = "INTx: one line for all, shared with another device"
    MMIO = "virtio-mmio: one for the device"


@dataclass(frozen=True, slots=True)
class Row:
    """One numbered row of /proc/interrupts; ``key`` is what follows ``virtio0-`` in its name."""

    irq: int
    key: str
    chip: str
    hwirq: int
    trigger: str
    actions: str


@dataclass(frozen=True, slots=True)
class Load:
    """What happens to a guest within some seconds."""

    seconds: float = 2.0
    interrupts: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """By key and CPU."""
    statistics: Mapping[str, int] = field(default_factory=dict)
    softirq_ticks: Mapping[int, int] = field(default_factory=dict)
    """Of each CPU's ticks; the rest is idle."""
    softnet: Mapping[int, tuple[int, int, int]] = field(default_factory=dict)
    """processed, dropped, time_squeeze by CPU."""
    waits: Mapping[int, int] = field(default_factory=dict)
    """Waits for locks by CPU."""
    kicks: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Receive and transmit notifications by queue pair."""
    queue_packets: Mapping[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Guest:
    """One moment of a KVM guest with one virtio NIC, eth0, that is virtio0."""

    cpus: int = 4
    queues: int = 4
    queues_max: int | None = None
    wiring: Wiring = Wiring.OWN_VECTORS
    features: frozenset[int] = FEATURES
    isolated: str = ""
    nohz_full: str = ""
    effective: Mapping[str, str] = field(default_factory=dict)
    """CPU list by key, where it is not the queue's own CPU."""
    affinity: Mapping[str, str] = field(default_factory=dict)
    """CPU list by key, where it is not that of ``effective``."""
    fixed: frozenset[str] = frozenset()
    """Keys whose affinity files are read-only."""
    counts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    xps: Mapping[int, str] = field(default_factory=dict)
    """Masks by queue, where it is not the queue's own CPU."""
    rps: Mapping[int, str] = field(default_factory=dict)
    statistics: Mapping[str, int] = field(default_factory=lambda: dict(STATISTICS))
    softnet: tuple[tuple[int, int, int], ...] = ()
    times: tuple[tuple[int, ...], ...] = ()
    """user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice by CPU."""
    waits: tuple[int, ...] = ()
    """Waits for locks by CPU."""
    lock_record: Mapping[str, Any] | None = None
    """Waits with their stacks, as the captured source tells them; None where nobody asked for a record."""
    kicks: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    queue_packets: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    timeouts: Mapping[int, int] = field(default_factory=dict)
    """Transmit watchdog firings by queue; none where not said."""
    irqbalance: tuple[str, ...] = ()
    """Its command line; empty where it does not run."""
    irqbalance_env: str | None = None
    vlan: bool = False
    captured: bool = True
    """Whether netlink's and systemd's answers lie beside the files."""
    clock_ns: int | None = START_NS

    def after(self, load: Load, **changes: Any) -> Guest:
        """The guest when the load has passed; ``changes`` are of the configuration."""
        ticks = int(load.seconds * TICKS_PER_SECOND)
        grown = replace(
            self,
            counts={row.key: self._grown(row.key, load) for row in self.rows()},
            statistics={name: value + load.statistics.get(name, 0) for name, value in self.statistics.items()},
            softnet=tuple(_sum(row, load.softnet.get(cpu, (0, 0, 0))) for cpu, row in enumerate(self.softnet_rows())),
            times=tuple(
                _passed(row, ticks, load.softirq_ticks.get(cpu, 0)) for cpu, row in enumerate(self.time_rows())
            ),
            waits=tuple(count + load.waits.get(cpu, 0) for cpu, count in enumerate(self.waits_of_cpus())),
            kicks={queue: _pair(self.kicks_of(queue), load.kicks.get(queue)) for queue in range(self.queues)},
            queue_packets={q: _pair(self.packets_of(q), load.queue_packets.get(q)) for q in range(self.queues)},
            clock_ns=None if self.clock_ns is None else self.clock_ns + int(load.seconds * 1e9),
        )
        return replace(grown, **changes)

    def rows(self) -> tuple[Row, ...]:
        """The NIC's interrupts."""
        if self.wiring is Wiring.MMIO:
            return (Row(FIRST_IRQ, "", "GICv3", 79, "Edge", "virtio0"),)
        if self.wiring is Wiring.LEGACY_LINE:
            return (Row(11, "", "IO-APIC", 11, "fasteoi", "uhci_hcd:usb1, virtio0"),)
        keys = ["config", "virtqueues"]
        if self.wiring is Wiring.OWN_VECTORS:
            keys = ["config", *(f"{side}.{q}" for q in range(self.queues) for side in ("input", "output"))]
        chip = f"PCI-MSIX-{PCI}"
        return tuple(
            Row(FIRST_IRQ + number, key, chip, number, "edge", f"virtio0-{key}") for number, key in enumerate(keys)
        )

    def irq(self, key: str) -> int:
        """The number of an interrupt."""
        return next(row.irq for row in self.rows() if row.key == key)

    def counts_of(self, key: str) -> tuple[int, ...]:
        """Interrupts since boot by CPU."""
        started = self.irq(key) * 1_000
        return self.counts.get(key) or tuple(started + 10 * cpu + 3 for cpu in range(self.cpus))

    def effective_of(self, key: str) -> str:
        """Where an interrupt goes: queue pair n to CPU n, unless said otherwise."""
        number = key.rpartition(".")[2]
        return self.effective.get(key) or str(int(number) % self.cpus if number.isdecimal() else 0)

    def affinity_of(self, key: str) -> str:
        """Where an interrupt may go."""
        return self.affinity.get(key) or self.effective_of(key)

    def softnet_rows(self) -> tuple[tuple[int, int, int], ...]:
        """processed, dropped, time_squeeze by CPU."""
        return self.softnet or tuple((70_001 + 11 * cpu, 5 + cpu, 21 + cpu) for cpu in range(self.cpus))

    def time_rows(self) -> tuple[tuple[int, ...], ...]:
        """Ticks by CPU."""
        return self.times or tuple(
            (
                4_100 + cpu,
                31 + cpu,
                2_200 + cpu,
                90_000 + cpu,
                140 + cpu,
                17 + cpu,
                610 + cpu,
                41 + cpu,
                2 + cpu,
                1 + cpu,
            )
            for cpu in range(self.cpus)
        )

    def waits_of_cpus(self) -> tuple[int, ...]:
        """Waits for locks by CPU since the counters were opened."""
        return self.waits or tuple(2_100 + 13 * cpu for cpu in range(self.cpus))

    def kicks_of(self, queue: int) -> tuple[int, int]:
        """Receive and transmit notifications since boot."""
        return self.kicks.get(queue, (300 + queue, 8_000 + queue))

    def packets_of(self, queue: int) -> tuple[int, int]:
        """Packets received and sent by a queue pair since boot."""
        return self.queue_packets.get(queue, (50_000 + queue, 40_000 + queue))

    def write(self, root: Path) -> Path:
        """The tree below ``root``, which is made; gives it back."""
        for path, text in self.files().items():
            file = root / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for path, target in self.links().items():
            link = root / path.lstrip("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(target, Path(path).parent))
        for key in self.fixed:
            for name in ("smp_affinity", "smp_affinity_list"):
                (root / f"proc/irq/{self.irq(key)}/{name}").chmod(0o444)
        return root

    def files(self) -> dict[str, str]:
        """Every file's text by its path."""
        parts = (self._proc(), self._irqs(), self._cpus(), self._devices(), self._nic(), self._vlan(), self._balancer())
        return {path: text for part in parts for path, text in part} | dict(self._captured())

    def links(self) -> dict[str, str]:
        """Every link's target, from the root, by its path."""
        links = {
            "/sys/bus/virtio/devices/virtio0": self._device(),
            f"{self._device()}/driver": "/sys/bus/virtio/drivers/virtio_net",
            "/sys/class/net/eth0": f"{self._device()}/net/eth0",
            f"{self._device()}/net/eth0/device": self._device(),
            "/sys/class/net/lo": "/sys/devices/virtual/net/lo",
        }
        if self.wiring is not Wiring.MMIO:
            links[f"{self._bus()}/driver"] = "/sys/bus/pci/drivers/virtio-pci"
        if self.vlan:
            vlan = "/sys/devices/virtual/net/eth0.7"
            links["/sys/class/net/eth0.7"] = vlan
            links[f"{vlan}/lower_eth0"] = f"{self._device()}/net/eth0"
            links[f"{self._device()}/net/eth0/upper_eth0.7"] = vlan
        return links

    def _grown(self, key: str, load: Load) -> tuple[int, ...]:
        growth = load.interrupts.get(key, {})
        return tuple(count + growth.get(cpu, 0) for cpu, count in enumerate(self.counts_of(key)))

    def _bus(self) -> str:
        mmio = self.wiring is Wiring.MMIO
        return "/sys/devices/platform/a003e00.virtio_mmio" if mmio else f"/sys/devices/pci0000:00/{PCI}"

    def _device(self) -> str:
        return f"{self._bus()}/virtio0"

    def _every(self) -> str:
        return f"0-{self.cpus - 1}" if self.cpus > 1 else "0"

    def _proc(self) -> Iterator[tuple[str, str]]:
        yield "/proc/interrupts", self._interrupts()
        yield "/proc/net/softnet_stat", "".join(_softnet(cpu, row) for cpu, row in enumerate(self.softnet_rows()))
        yield "/proc/softirqs", self._softirqs()
        yield "/proc/stat", self._stat()
        yield "/proc/net/snmp", _table("Tcp", InSegs=80_001, OutSegs=70_002, RetransSegs=13) + _table("Udp", InErrors=3)
        yield "/proc/net/netstat", _table("TcpExt", ListenDrops=4, TCPTimeouts=9)
        yield "/proc/cmdline", "root=/dev/vda console=ttyS0\n"
        yield "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu msr hypervisor\n\n"
        yield "/proc/self/status", f"Name:\ttuneagent\nCpus_allowed_list:\t{self._every()}\n"
        yield "/proc/self/cgroup", "0::/user.slice\n"
        yield "/proc/1/comm", "systemd\n"
        yield "/proc/1/cmdline", "/sbin/init\0"
        yield "/proc/sys/kernel/random/boot_id", f"{BOOT}\n"
        yield "/proc/sys/kernel/osrelease", "6.12.9\n"
        yield "/proc/sys/kernel/arch", "x86_64\n"
        yield "/sys/class/dmi/id/product_uuid", f"{UUID.upper()}\n"
        yield "/sys/class/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)\n"
        yield "/sys/class/dmi/id/sys_vendor", "QEMU\n"
        yield "/sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock tsc acpi_pm \n"

    def _interrupts(self) -> str:
        head = " " * 11 + "".join(f"CPU{cpu:<8}" for cpu in range(self.cpus))
        local = "".join(f"{7_000 + cpu:>11}" for cpu in range(self.cpus))
        return "\n".join(
            [head, *map(self._row, self.rows()), f"LOC:{local}   Local timer interrupts", "ERR:          2", ""]
        )

    def _row(self, row: Row) -> str:
        counts = "".join(f"{count:>11}" for count in self.counts_of(row.key))
        if row.trigger == "Edge":  # CONFIG_GENERIC_IRQ_SHOW_LEVEL, as on arm64
            return f"{row.irq:>3}:{counts}     {row.chip} {row.hwirq:>5} {row.trigger}      {row.actions}"
        return f"{row.irq:>3}:{counts}  {row.chip} {row.hwirq:>3}-{row.trigger}      {row.actions}"

    def _softirqs(self) -> str:
        head = " " * 20 + "".join(f"CPU{cpu:<8}" for cpu in range(self.cpus))
        names = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK")
        rows = [
            f"{name:>12}:" + "".join(f"{1_000 * (place + 1) + row[0] % 997:>11}" for row in self.softnet_rows())
            for place, name in enumerate(names)
        ]
        return "\n".join([head, *rows, ""])

    def _stat(self) -> str:
        rows = self.time_rows()
        sums = tuple(map(sum, zip(*rows, strict=True)))
        lines = [f"cpu  {' '.join(map(str, sums))}"]
        lines += [f"cpu{cpu} {' '.join(map(str, row))}" for cpu, row in enumerate(rows)]
        return "\n".join([*lines, "intr 987654 0 3", "ctxt 456789", "btime 1700000000", "processes 4321", ""])

    def _irqs(self) -> Iterator[tuple[str, str]]:
        for row in self.rows():
            directory = f"/proc/irq/{row.irq}"
            for name, cpus in (
                ("smp_affinity", self.affinity_of(row.key)),
                ("effective_affinity", self.effective_of(row.key)),
            ):
                yield f"{directory}/{name}_list", f"{cpus}\n"
                yield f"{directory}/{name}", f"{mask(cpus)}\n"
            yield f"{directory}/affinity_hint", "0\n"
            yield f"{directory}/node", "-1\n"
            yield f"/sys/kernel/irq/{row.irq}/actions", row.actions.replace(", ", ",") + "\n"
            if "MSIX" in row.chip:
                yield f"{self._bus()}/msi_irqs/{row.irq}", "msix\n"

    def _cpus(self) -> Iterator[tuple[str, str]]:
        directory = "/sys/devices/system/cpu"
        yield f"{directory}/online", f"{self._every()}\n"
        yield f"{directory}/possible", f"{self._every()}\n"
        yield f"{directory}/isolated", f"{self.isolated}\n"
        yield f"{directory}/nohz_full", f"{self.nohz_full}\n"
        yield "/sys/devices/system/node/node0/cpulist", f"{self._every()}\n"
        for cpu in range(self.cpus):
            yield f"{directory}/cpu{cpu}/topology/core_cpus_list", f"{cpu}\n"

    def _devices(self) -> Iterator[tuple[str, str]]:
        bits = "".join("1" if bit in self.features else "0" for bit in range(64))
        yield f"{self._device()}/device", "0x0001\n"
        yield f"{self._device()}/vendor", "0x1af4\n"
        yield f"{self._device()}/features", f"{bits}\n"
        if self.wiring is not Wiring.MMIO:
            yield f"{self._bus()}/numa_node", "-1\n"
            yield f"{self._bus()}/local_cpulist", f"{self._every()}\n"

    def _nic(self) -> Iterator[tuple[str, str]]:
        directory = f"{self._device()}/net/eth0"
        yield from _interface(directory, 2, MAC, self.statistics)
        for queue in range(self.queues):
            yield f"{directory}/queues/rx-{queue}/rps_cpus", f"{self.rps.get(queue, '0')}\n"
            yield f"{directory}/queues/rx-{queue}/rps_flow_cnt", f"{10 + queue}\n"
            yield f"{directory}/queues/tx-{queue}/tx_timeout", f"{self.timeouts.get(queue, 0)}\n"
            if self.queues > 1:  # net/core/net-sysfs.c xps_cpus_show: ENOENT for a single queue
                own = mask(str(queue % self.cpus))
                yield f"{directory}/queues/tx-{queue}/xps_cpus", f"{self.xps.get(queue, own)}\n"
        loopback = {name: 7 + number for number, name in enumerate(NUMBERS)}
        yield from _interface("/sys/devices/virtual/net/lo", 1, "00:00:00:00:00:00", loopback)

    def _vlan(self) -> Iterator[tuple[str, str]]:
        if self.vlan:
            numbers = {name: 501 + 3 * number for number, name in enumerate(NUMBERS)}
            directory = "/sys/devices/virtual/net/eth0.7"
            yield from _interface(directory, 3, MAC, numbers)
            yield f"{directory}/queues/rx-0/rps_cpus", "0\n"
            yield f"{directory}/queues/tx-0/tx_timeout", "2\n"

    def _balancer(self) -> Iterator[tuple[str, str]]:
        if self.irqbalance:
            yield f"/proc/{PID}/comm", "irqbalance\n"
            yield f"/proc/{PID}/cmdline", "\0".join(self.irqbalance) + "\0"
            yield f"/run/irqbalance/irqbalance{PID}.sock", ""
        if self.irqbalance_env is not None:
            yield "/etc/default/irqbalance", self.irqbalance_env

    def _captured(self) -> Iterator[tuple[str, str]]:
        if self.clock_ns is not None:
            times = {
                "monotonic_ns": self.clock_ns,
                "boottime_ns": self.clock_ns + 7,
                "realtime_ns": 10**18 + self.clock_ns,
            }
            yield "/captured/clock.json", json.dumps(times)
        if not self.captured:
            return
        state = {"ActiveState": "active" if self.irqbalance else "inactive", "SubState": "dead", "LoadState": "loaded"}
        yield "/captured/units.json", json.dumps({"irqbalance.service": state})
        yield "/captured/links.json", json.dumps(self._links_value())
        yield "/captured/ethtool.json", json.dumps({"eth0": self._ethtool_value()})
        yield "/captured/queue-statistics.json", json.dumps({"eth0": list(self._queue_value())})
        waits = {str(cpu): count for cpu, count in enumerate(self.waits_of_cpus())}
        counted = {"opened_at_ns": START_NS - 900, "per_cpu": waits, "spin": "every"}
        yield "/captured/lock-contention.json", json.dumps(counted)
        if self.lock_record is not None:
            yield "/captured/lock-record.json", json.dumps(self.lock_record)

    def _links_value(self) -> list[dict[str, Any]]:
        qdisc = "mq" if self.queues > 1 else "fq_codel"
        names = [("lo", None, "noqueue", 1), ("eth0", None, qdisc, self.queues), ("eth0.7", "vlan", "noqueue", 1)]
        return [
            {"ifindex": place, "name": name, "kind": kind, "qdisc": queueing, "tx_queues": queues, "rx_queues": queues}
            for place, (name, kind, queueing, queues) in enumerate(names[: 3 if self.vlan else 2], 1)
        ]

    def _ethtool_value(self) -> dict[str, Any]:
        statistics: dict[str, int] = {}
        for queue in range(self.queues):
            rx, tx = self.kicks_of(queue)
            statistics |= {f"rx{queue}_kicks": rx, f"tx{queue}_kicks": tx}
        return {
            "driver": "virtio_net",
            "bus_info": PCI,
            "channels": {"combined": self.queues, "combined_max": self.queues_max or self.queues},
            "rings": {"rx": 256, "rx_max": 1024, "tx": 128, "tx_max": 512},
            "coalesce": {"rx_usecs": 0, "rx_max_frames": 1, "tx_usecs": 3, "tx_max_frames": 2},
            "features": {"rx-gro": True, "tx-tcp-segmentation": True, "rx-hashing": False},
            "statistics": statistics,
        }

    def _queue_value(self) -> Iterator[dict[str, Any]]:
        for queue in range(self.queues):
            rx, tx = self.packets_of(queue)
            yield {"type": "rx", "index": queue, "packets": rx, "bytes": 64 * rx + 1, "drops": 2 + queue}
            yield {"type": "tx", "index": queue, "packets": tx, "bytes": 80 * tx + 3}


def mask(cpus: str) -> str:
    """A CPU list as the kernel prints it as a mask."""
    bits = 0
    for part in filter(None, cpus.split(",")):
        first, _, last = part.partition("-")
        for cpu in range(int(first), int(last or first) + 1):
            bits |= 1 << cpu
    words: list[str] = []
    while bits >> 32:
        words.append(f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join([f"{bits:x}", *reversed(words)])


def guest(root: Path, **changes: Any) -> Path:
    """The tree of a :class:`Guest` with these changes."""
    return Guest(**changes).write(root)


def _interface(directory: str, index: int, mac: str, statistics: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    words = {"ifindex": index, "address": mac, "operstate": "up", "mtu": 1400 + index, "napi_defer_hard_irqs": 4,
             "gro_flush_timeout": 2_000, "threaded": 0}  # fmt: skip
    for name, value in words.items():
        yield f"{directory}/{name}", f"{value}\n"
    for name, value in statistics.items():
        yield f"{directory}/statistics/{name}", f"{value}\n"


def _softnet(cpu: int, row: tuple[int, int, int]) -> str:
    """15 columns, as since kernel 6.10: two queue lengths behind the CPU id."""
    columns = (*row, 0, 0, 0, 0, 0, 0, 31 + cpu, 41 + cpu, 9, cpu, 4, 5)
    return " ".join(f"{column:08x}" for column in columns) + "\n"


def _table(protocol: str, **counters: int) -> str:
    return f"{protocol}: {' '.join(counters)}\n{protocol}: {' '.join(map(str, counters.values()))}\n"


def _sum(row: tuple[int, int, int], more: tuple[int, int, int]) -> tuple[int, int, int]:
    return row[0] + more[0], row[1] + more[1], row[2] + more[2]


def _pair(row: tuple[int, int], more: tuple[int, int] | None) -> tuple[int, int]:
    return row if more is None else (row[0] + more[0], row[1] + more[1])


def _passed(row: Iterable[int], ticks: int, softirq: int) -> tuple[int, ...]:
    user, nice, system, idle, iowait, irq, softirqs, *rest = row
    return (user, nice, system, idle + ticks - softirq, iowait, irq, softirqs + softirq, *rest)

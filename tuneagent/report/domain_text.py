"""One virtual machine in full: definition, where its exits come from, interfaces, and the threads that serve it."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import DomainView, KvmRate, TapRate, ThreadRate
from tuneagent.model.hypervisor import KvmCounters, ThreadRole
from tuneagent.report.document import Block, Gap, Heading, Paragraph, Table
from tuneagent.report.safe import safe
from tuneagent.report.values import NOT_KNOWN, UNKNOWN, cpus, number, plural, short

MOST_KINDS = 12
MOST_THREADS = 64
MOST_INTERFACES = 32
"""Rows; the JSON has all."""
_SWITCH = {True: "on", False: "off"}
_REACH = {
    False: "vhost workers are threads of QEMU (since Linux 6.4): emulatorpin and QEMU's CPU limits hold for them too",
    True: "vhost workers are threads of the kernel (before Linux 6.4): emulatorpin reaches them under cgroup v1 only",
}


def domain_blocks(domain: DomainView) -> Iterator[Block]:
    """Its facts and figures; what is wrong with it is told elsewhere."""
    yield Gap()
    # A definition that has no UUID yet has an empty key, and what has no name of its own is called by its key.
    key = f" ({safe(domain.key)})" if domain.key and domain.key != domain.name else ""
    yield Heading(f"{safe(domain.subject)}{key}")
    if domain.definition is not None:
        yield Paragraph("; ".join(_facts(domain.definition)), 2)
    yield from _exits(domain)
    yield from _interfaces(domain)
    yield from _threads(domain.threads)


def _facts(definition: Domain) -> Iterator[str]:
    yield f"{safe(definition.state)} at {safe(definition.uri)}"
    vcpus = "vCPUs unknown" if definition.vcpus is None else plural(definition.vcpus, "vCPU")
    yield f"{safe(definition.type)}, {vcpus}"
    yield "every vCPU pinned" if definition.vcpus_are_pinned else "vCPUs not all pinned"
    pin = definition.emulator_pin
    yield f"emulator pinned to {cpus(pin)}" if pin is not None else "emulator not pinned"
    if definition.memory_kib is not None:
        pages = " of huge pages" if definition.hugepages else ""
        yield f"{number(definition.memory_kib / 1024)} MiB{pages}"
    if definition.memory_nodes is not None:
        yield f"memory on node {definition.memory_nodes}"
    if definition.numa_cells:
        yield plural(definition.numa_cells, "NUMA cell")
    agent = {True: "connected", False: "not connected", None: "unknown"}[definition.guest_agent]
    yield f"guest agent {agent}"
    if definition.pending is not None:
        yield "its stored definition differs and counts from the next cold start on"


def _exits(domain: DomainView) -> Iterator[Block]:
    if domain.kvm is None:
        yield Paragraph(safe(domain.kvm_reason or UNKNOWN), 2, label="Exits unknown:")
        yield from _so_far(domain.counters)
        return
    parts = [f"{number(domain.kvm.exits_per_sec)}/s"]
    if domain.exits_per_packet is not None:
        parts.append(f"{number(domain.exits_per_packet)} a packet through its taps")
    if domain.kvm.exits_are_a_sum:
        parts.append("the sum of the kinds that this kernel counts")
    yield Paragraph(", ".join(parts), 2, label="Exits:")
    kinds = domain.kvm.exits_by_kind
    words = [f"{safe(name)} {number(rate)}/s" for name, rate in kinds[:MOST_KINDS]]
    if words:
        yield Paragraph(f"{', '.join(words)}{' …' if len(kinds) > MOST_KINDS else ''}", 2, label="By kind:")
    if domain.kvm.vcpus:
        yield Paragraph(_by_vcpu(domain.kvm), 2, label="By vCPU:")


def _so_far(counters: KvmCounters | None) -> Iterator[Block]:
    """What was counted since the virtual machine began, where one sample is all there is."""
    exits = counters.totals.get("exits") if counters is not None else None
    if counters is not None and exits is not None:
        of_kinds = ", the sum of the kinds that this kernel counts" if counters.exits_are_a_sum else ""
        yield Paragraph(f"{exits:,}{of_kinds}", 2, label="Exits so far:")


def _by_vcpu(rate: KvmRate) -> str:
    vcpus = sorted(rate.vcpus.items())
    words = [f"{vcpu}: {short(counters.get('exits'))}/s" for vcpu, counters in vcpus[:MOST_THREADS]]
    return ", ".join(words) + (" …" if len(vcpus) > MOST_THREADS else "")


def _interfaces(domain: DomainView) -> Iterator[Block]:
    interfaces = domain.definition.interfaces if domain.definition else ()
    rows = [_interface(domain.tap_of(one), one) for one in interfaces]
    rows += [_tap(one) for one in domain.taps if one.interface is None]
    if not rows:
        return
    columns = ("interface", "by", "queues", "event idx", "to guest", "from guest", "drop/s")
    yield Table(columns, tuple(rows[:MOST_INTERFACES]), frozenset(columns[2:3] + columns[4:]))
    yield Paragraph("by: who moves its packets; to and from the guest: packets/s; drop/s: lost at the tap", 2)
    if len(rows) > MOST_INTERFACES:
        yield Paragraph(f"{len(rows) - MOST_INTERFACES} more are in --json", 2)


def _interface(tap: TapRate | None, one: DomainInterface) -> tuple[str, ...]:
    name = one.target or one.mac or f"interface {one.position}"
    event_index = "-" if one.event_index is None else _SWITCH[one.event_index]
    # The tap's queues are those that are open; a passed-through device has its own.
    queues = "-" if one.queue_pairs is None else str(one.queue_pairs)
    return safe(name), one.backend.value, queues, event_index, *_carried(tap)


def _tap(tap: TapRate) -> tuple[str, ...]:
    return safe(tap.tap.name), NOT_KNOWN, short(tap.tap.queues), NOT_KNOWN, *_carried(tap)


def _carried(tap: TapRate | None) -> tuple[str, str, str]:
    if tap is None:
        return "-", "-", "-"
    drops = (tap.to_guest_drops_per_sec, tap.from_guest_drops_per_sec)
    known = [one for one in drops if one is not None]
    return (
        short(tap.to_guest_packets_per_sec),
        short(tap.from_guest_packets_per_sec),
        short(sum(known)) if len(known) == len(drops) else NOT_KNOWN,
    )


def _threads(threads: tuple[ThreadRate, ...]) -> Iterator[Block]:
    if not threads:
        return
    columns = ("thread", "TID", "may run on", "ran last on", "CPU %", "wait %")
    rows = tuple(_thread(one) for one in threads[:MOST_THREADS])
    yield Table(columns, rows, frozenset({"TID", "CPU %", "wait %"}))
    yield Paragraph("CPUs are the host's; wait: ready to run, but without a CPU; both in percent of the interval", 2)
    if len(threads) > MOST_THREADS:
        yield Paragraph(f"{len(threads) - MOST_THREADS} more threads are in --json", 2)
    for kernel_thread in sorted({one.thread.kernel_thread for one in threads if one.thread.role is ThreadRole.VHOST}):
        yield Paragraph(_REACH[kernel_thread], 2)


def _thread(one: ThreadRate) -> tuple[str, ...]:
    thread = one.thread
    name = thread.role.value if thread.index is None else f"{thread.role.value} {thread.index}"
    last = UNKNOWN if thread.cpu is None else f"{thread.cpu}"
    return (
        f"{name} (kernel)" if thread.kernel_thread else name,
        str(thread.tid),
        cpus(thread.affinity),
        f"{last}, moved" if one.moved else last,
        short(one.cpu_percent),
        short(one.wait_percent),
    )

"""``tuneagent doctor``: each thing that advice rests on, whether it can be seen, why not and what would help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any

from tuneagent.model.hypervisor import Hypervisor, KvmSource, ThreadRole
from tuneagent.model.missing import Missing
from tuneagent.model.snapshot import Snapshot
from tuneagent.report.capabilities import missing_rows, missing_table
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table
from tuneagent.report.jsonable import jsonable
from tuneagent.report.safe import safe

SCHEMA = "tuneagent.doctor/1"


@dataclass(frozen=True, slots=True)
class Installation:
    """How tuneagent itself is installed and run."""

    version: str
    python: str
    user_id: int
    policies: int
    policy_directory: str


class Seen(StrEnum):
    """How much of a capability there is."""

    YES = "yes"
    IN_PART = "in part"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing that advice rests on."""

    name: str
    gives: str
    """What is known with it and unknown without."""
    state: Seen
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """One capability before it is held against a machine."""

    name: str
    prefixes: tuple[str, ...]
    """Of the paths of ``Missing.what`` that take from it; over all rows the longest match counts."""
    part: Callable[[Snapshot], object]
    """What there is of it; None where there is nothing."""
    gives: str


def _row(name: str, prefixes: tuple[str, ...], part: str, gives: str) -> _Row:
    return _Row(name, prefixes, attrgetter(part), gives)


_ANYWHERE = (
    _row("interrupt counts", ("interrupts",), "interrupts", "interrupts per second by queue and CPU"),
    _row("interrupt placement", ("irq.",), "irqs", "where each interrupt may and does go, and whether it can be moved"),
    _row("virtio devices", ("virtio",), "virtio", "negotiated features: event index, multiqueue, coalescing"),
    _row("interfaces", ("nics", "nic."), "nics", "queues, RPS, XPS, packets, drops"),
    _row("links by netlink", ("nics.link",), "nics", "queueing disciplines and kinds of stacked devices"),
    _row("ethtool by netlink", ("nics.ethtool",), "nics", "channels offered, rings, coalescing, kicks"),
    _row("packets by queue", ("nics.queue_statistics",), "nics", "packets and drops of each queue"),
    _row("softnet", ("softnet",), "softnet", "drops and time squeezes by CPU"),
    _row("softirqs", ("softirqs",), "softirqs", "network softirqs by CPU"),
    _row("CPU time", ("cpu_times",), "cpu_times", "softirq and steal share by CPU"),
    _row("protocols", ("protocols",), "protocols", "TCP segments and retransmits, UDP datagrams"),
    _row("CPUs", ("cpus",), "cpus", "online, isolated, nodes, SMT siblings"),
    _row("identity", ("identity",), "identity", "joins this guest to its domain on the hypervisor"),
    _row("irqbalance", ("irqbalance",), "irqbalance", "whether something else moves interrupts"),
)
_HYPERVISOR = "hypervisor"
_WHOLE = frozenset({"nics.link", "nics.ethtool", "nics.queue_statistics"})
"""Gaps that leave nothing of their capability."""


def capabilities(snapshot: Snapshot) -> tuple[Capability, ...]:
    """Every capability with what is missing of it; those of a hypervisor where this machine is one."""
    rows = (*_ANYWHERE, *_locks(snapshot), *_beside(snapshot))
    by_name: dict[str, list[Missing]] = {row.name: [] for row in rows}
    for one in snapshot.missing:
        by_name[_owner(one.what, rows)].append(one)
    return tuple(
        Capability(row.name, row.gives, _state(row.part(snapshot), by_name[row.name]), tuple(by_name[row.name]))
        for row in rows
    )


def _locks(snapshot: Snapshot) -> tuple[_Row, ...]:
    """What can be seen of waiting for locks."""
    counts, record = snapshot.contention, snapshot.lock_record
    counted = "not counted" if counts is None else f"counted (waits for spinlocks seen: {counts.spin})"
    recorded = "not recorded" if record is None else "recorded"
    return (
        _Row(
            "lock waits",
            ("contention", "lock_record"),
            lambda _: counts or record,
            f"waits for locks by CPU: {counted}; at which lock, by whom: {recorded}",
        ),
        _Row(
            "lock_stat",
            ("lock_stat",),
            lambda _: snapshot.lock_stat,
            "waits by class of lock, on kernels built with CONFIG_LOCK_STAT only",
        ),
    )


def _beside(snapshot: Snapshot) -> tuple[_Row, ...]:
    """What can be seen of virtual machines from beside them."""
    host = snapshot.hypervisor
    if host is None:
        unseen = any(one.what.startswith(_HYPERVISOR) for one in snapshot.missing)
        return (_Row("virtual machines", (_HYPERVISOR,), lambda _: None, "what runs here"),) if unseen else ()
    source = host.kvm_source
    seen = source is not KvmSource.NONE or not host.processes
    return (
        _Row(
            "virtual machines",
            (_HYPERVISOR, "hypervisor.domains", "hypervisor.processes"),
            lambda _: host.domains,
            "definitions by libvirt: interfaces, queues, pins",
        ),
        _Row("VM exits", ("hypervisor.kvm",), lambda _: seen or None, f"exits and halt polling; source: {source}"),
        _Row("vCPU and vhost threads", ("hypervisor.threads",), lambda _: True, _threads(host)),
        _Row("taps", ("tap.",), lambda _: True, f"packets and drops of each interface; there: {len(host.taps)}"),
        _Row(
            "host settings", ("hypervisor.parameters", "hypervisor.memory"), lambda _: True, "halt polling, vhost, KSM"
        ),
        _Row(
            "QEMU's monitor",
            ("hypervisor.virtio",),
            lambda _: host.domains,
            "negotiated features, asked with --allow-monitor only",
        ),
        _Row("guest agents", (), lambda _: _agents(host), _connected(host)),
    )


def _threads(host: Hypervisor) -> str:
    workers = sum(thread.role is ThreadRole.VHOST for thread in host.threads)
    return f"CPU time, waits and placement; vhost workers: {workers}"


def _agents(host: Hypervisor) -> object:
    if host.domains is None:  # the way to an agent leads through libvirt
        return None
    running = [domain for domain in host.domains if domain.running]
    return None if running and not any(domain.guest_agent for domain in running) else True


def _connected(host: Hypervisor) -> str:
    running = [domain for domain in host.domains or () if domain.running]
    connected = sum(domain.guest_agent is True for domain in running)
    return f"the inside of a guest with --domain; connected in {connected} of {len(running)}"


def _state(part: object, missing: list[Missing]) -> Seen:
    if part is None or any(one.what in _WHOLE for one in missing):
        return Seen.NO
    return Seen.IN_PART if missing else Seen.YES


def _owner(what: str, rows: tuple[_Row, ...]) -> str:
    matches = [(len(prefix), row.name) for row in rows for prefix in row.prefixes if what.startswith(prefix)]
    return max(matches)[1] if matches else "identity"


def to_json(installation: Installation, snapshot: Snapshot, seen: tuple[Capability, ...]) -> dict[str, Any]:
    """The same as JSON values."""
    return {
        "schema": SCHEMA,
        "installation": jsonable(installation),
        "identity": jsonable(snapshot.identity),
        "capabilities": [jsonable(one) for one in seen],
    }


def document(installation: Installation, snapshot: Snapshot, seen: tuple[Capability, ...]) -> Document:
    """The same for people."""
    return tuple(_blocks(installation, snapshot, seen))


def _blocks(installation: Installation, snapshot: Snapshot, seen: tuple[Capability, ...]) -> Iterator[Block]:
    who = "root" if installation.user_id == 0 else f"user {installation.user_id}, not root"
    yield Heading(f"tuneagent {installation.version}, Python {installation.python}, run as {who}")
    yield Paragraph(f"{installation.policies} policies in {safe(installation.policy_directory)}", 0)
    identity = snapshot.identity
    if identity is not None:
        kind = safe(identity.virtualisation or "unknown")
        yield Paragraph(f"This machine: {identity.role.value}, virtualisation {kind}.")
    yield Gap()
    rows = tuple((one.name, one.state.value, one.gives) for one in seen)
    yield Table(("capability", "seen", "gives"), rows)
    missing = missing_rows(one for capability in seen for one in capability.missing)
    if missing:
        yield Gap()
        yield Heading("Not seen")
        yield missing_table(missing)

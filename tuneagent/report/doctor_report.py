"""``tuneagent doctor``: each thing that advice rests on, whether it can be seen, why not and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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


_CAPABILITIES: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("interrupt counts", ("interrupts",), "interrupts", "interrupts per second by queue and CPU"),
    ("interrupt placement", ("irq.",), "irqs", "where each interrupt may and does go, and whether it can be moved"),
    ("virtio devices", ("virtio",), "virtio", "negotiated features: event index, multiqueue, coalescing"),
    ("interfaces", ("nics", "nic."), "nics", "queues, RPS, XPS, packets, drops"),
    ("links by netlink", ("nics.link",), "nics", "queueing disciplines and kinds of stacked devices"),
    ("ethtool by netlink", ("nics.ethtool",), "nics", "channels offered, rings, coalescing, kicks"),
    ("packets by queue", ("nics.queue_statistics",), "nics", "packets and drops of each queue"),
    ("softnet", ("softnet",), "softnet", "drops and time squeezes by CPU"),
    ("softirqs", ("softirqs",), "softirqs", "network softirqs by CPU"),
    ("CPU time", ("cpu_times",), "cpu_times", "softirq and steal share by CPU"),
    ("protocols", ("protocols",), "protocols", "TCP segments and retransmits, UDP datagrams"),
    ("CPUs", ("cpus",), "cpus", "online, isolated, nodes, SMT siblings"),
    ("identity", ("identity",), "identity", "joins this guest to its domain on the hypervisor"),
    ("irqbalance", ("irqbalance",), "irqbalance", "whether something else moves interrupts"),
)
"""Name, paths of ``Missing.what`` that take from it (the longest match counts), part of the snapshot, what it gives."""
_WHOLE = frozenset({"nics.link", "nics.ethtool", "nics.queue_statistics"})
"""Gaps that leave nothing of their capability."""


def capabilities(snapshot: Snapshot) -> tuple[Capability, ...]:
    """Every capability with what is missing of it."""
    by_name: dict[str, list[Missing]] = {name: [] for name, *_ in _CAPABILITIES}
    for one in snapshot.missing:
        by_name[_owner(one.what)].append(one)
    return tuple(
        Capability(name, gives, _state(getattr(snapshot, part), by_name[name]), tuple(by_name[name]))
        for name, _, part, gives in _CAPABILITIES
    )


def _state(part: object, missing: list[Missing]) -> Seen:
    if part is None or any(one.what in _WHOLE for one in missing):
        return Seen.NO
    return Seen.IN_PART if missing else Seen.YES


def _owner(what: str) -> str:
    matches = [
        (len(prefix), name) for name, prefixes, *_ in _CAPABILITIES for prefix in prefixes if what.startswith(prefix)
    ]
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

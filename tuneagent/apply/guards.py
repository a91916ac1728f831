"""What is refused before anything is touched. Pure: the machine as it was seen, the changes as they are planned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.model.identity import Identity
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.parse import cpulist

MOST_CHANGES = 1000
"""Unless asked for more: a NIC of 128 queue pairs with interrupts, XPS and RPS has 512."""
CONFIRM_WITHIN_S = 60.0
"""Time to see that ssh still answers, and to log in again where it does not."""
LINK_DROPS = frozenset({TunableKind.CHANNELS, TunableKind.RINGS})
"""Of the changes to this machine's own NICs, those for which packets are lost, or for good with a driver's fault."""
NEEDS_A_CPU = frozenset({TunableKind.IRQ_AFFINITY, TunableKind.EMULATOR_PIN, TunableKind.VHOST_AFFINITY})
"""Lists of CPUs that must not be empty. An empty mask of XPS or RPS means that it is off."""
SHOWN = 5
_IRQ_PATH = re.compile(r"/proc/irq/([0-9]{1,9})/")


@dataclass(frozen=True, slots=True)
class Objection:
    """Why nothing is touched, and what would help."""

    detail: str
    remedy: str
    forbidden: bool = False
    """Whether this process may not do it at all; else it is what was asked for that is refused."""


def permission(
    identity: Identity | None, changes: Sequence[Change], *, root: bool, in_container: bool
) -> Objection | None:
    """Whether this process can make these changes on the running machine, as far as that can be known before.

    ``in_container``: that the changes go to the machine around the container is known and meant.
    """
    if not root:
        return Objection("only root can change interrupts, queues and services", "run it with sudo", forbidden=True)
    if identity is None:
        return None
    closed = [place for place in identity.read_only if any(_is_below(change.where, place) for change in changes)]
    if closed:
        return _read_only(" and ".join(closed), identity.container)
    if identity.container is not None and not in_container:
        return Objection(
            f"this is a container ({identity.container}): its interrupts, CPUs and queues are those of the machine that"
            " it runs on, and of all else that runs there",
            "run it on that machine, or say --in-container if that is what is meant",
            forbidden=True,
        )
    return None


def request(
    changes: Sequence[Change],
    *,
    most: int = MOST_CHANGES,
    journal_disk: frozenset[int] = frozenset(),
    online: CpuSet | None = None,
) -> Objection | None:
    """Whether these changes may be made at all.

    ``journal_disk``: interrupts of the disk that the journal is on; empty where moving them was asked for.
    ``online``: CPUs that are; None where that is not known.
    """
    if len(changes) > most:
        return Objection(
            f"{len(changes)} changes are planned, and at most {most} are made in one run",
            f"name fewer with --on or --domain, or allow them with --max-changes {len(changes)}",
        )
    disk = sorted({irq for change in changes for irq in _irqs(change) if irq in journal_disk})
    if disk:
        return Objection(
            f"IRQ {_listed(map(str, disk))} belongs to the disk that the journal is on, and what keeps it from the"
            " disk keeps the undo from working",
            "leave it out, keep the journal elsewhere with --state DIR, or say --include-journal-disk",
        )
    wrong = next((words for change in changes if (words := _no_cpu(change, online))), None)
    return None if wrong is None else Objection(wrong, "correct the plan: each of these needs a CPU that is online")


def on_way_in(changes: Iterable[Change], nics: Iterable[Nic], way_in: frozenset[str]) -> tuple[str, ...]:
    """Which of the interfaces that the operator came in through lose packets for these changes, perhaps for good."""
    risky = [change.target for change in changes if change.kind in LINK_DROPS]
    names = {name for target in risky for name in _names(target, nics)}
    return tuple(sorted(names & way_in))


def confirm_default(*, disrupts: bool, ssh: bool, terminal: bool) -> float | None:
    """Seconds within which to confirm where nobody said; None where it need not be confirmed.

    A person at a terminal over ssh can confirm, and may be cut off. Ansible is over ssh too and has no terminal: what
    it applied would be undone behind its back.
    """
    return CONFIRM_WITHIN_S if disrupts and ssh and terminal else None


def _read_only(places: str, container: str | None) -> Objection:
    if container is not None:
        return Objection(
            f"{places} is mounted read-only: the container runtime ({container}) keeps a container from the machine's"
            " settings",
            "run it on the machine itself, or in a privileged container with --in-container",
            forbidden=True,
        )
    return Objection(
        f"{places} is mounted read-only for this process, as ProtectKernelTunables= of a systemd service does",
        "run it outside that service, or set ProtectKernelTunables=no in its unit",
        forbidden=True,
    )


def _is_below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def _irqs(change: Change) -> Iterator[int]:
    """Numbers that it names; one out of a file may name one thing and write another."""
    if change.kind is TunableKind.IRQ_AFFINITY:
        if change.target.irq is not None:
            yield change.target.irq
        if found := _IRQ_PATH.match(change.where):
            yield int(found[1])


def _no_cpu(change: Change, online: CpuSet | None) -> str | None:
    if change.kind not in NEEDS_A_CPU:
        return None
    for value in (change.new, *change.elsewhere):
        try:
            cpus = cpulist.parse(value)
        except ParseError as error:
            return f"{change.where}: {error.detail}"
        if not cpus:
            return f"{change.where}: an empty list of CPUs would leave it nowhere to run"
        if online is not None and not cpus & online:
            return f"{change.where}: of CPUs {cpus} none is online"
    return None


def _names(target: Target, nics: Iterable[Nic]) -> Iterator[str]:
    """Interfaces that it means: by their address, which a renaming leaves, or else by name."""
    for nic in nics:
        if target.bus_address is not None:
            meant = nic.bus_address == target.bus_address
        elif target.mac is not None:
            meant = nic.mac == target.mac
        else:
            meant = nic.name == target.interface
        if meant:
            yield nic.name


def _listed(words: Iterable[str]) -> str:
    every = list(words)
    more = f" and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
    return ", ".join(every[:SHOWN]) + more

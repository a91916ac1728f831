"""What a solver is given and what it gives back, and the few things that all solvers spell alike."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import DomainInterface
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Finding
from tuneagent.model.irqbalance import Irqbalance
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Declined, Target, TunableKind
from tuneagent.model.policy import Policy
from tuneagent.model.topology import CpuTopology
from tuneagent.model.view import View

IRQBALANCE_UNIT = "irqbalance.service"
ACTIVE_STATES = frozenset({"active", "activating", "reloading"})
"""systemd's words for a unit that runs, or is about to."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One policy on one subject. ``nic`` is None where the subject is the whole machine."""

    policy: Policy
    subject: str
    view: View
    nic: Nic | None
    pinning: bool = False
    """Whether the same plan also pins this NIC's interrupts: then they are where the placement puts them."""
    banning: bool = False
    """Whether the same plan, as asked by name, tells the running irqbalance to leave this NIC's interrupts alone."""
    domain: DomainView | None = None
    """The virtual machine of this host that it is about."""
    interface: DomainInterface | None = None
    """The interface of it, as the running definition tells it."""
    findings: tuple[Finding, ...] = ()
    """What is answered; empty where the policy was asked for by name."""
    earlier: Mapping[str, str] = field(default_factory=dict)
    """Attributes of the interface's ``<driver>`` that advice before this one in the same plan sets already."""
    taken: CpuSet = field(default_factory=CpuSet)
    """CPUs of this host that vCPUs of its virtual machines have by a pin."""
    busy: CpuSet = field(default_factory=CpuSet)
    """CPUs on which a vCPU that may run elsewhere is busy now."""

    @property
    def cpus(self) -> CpuTopology | None:
        """The machine's CPUs now."""
        return self.view.after.cpus

    @property
    def irqbalance(self) -> Irqbalance | None:
        """What is known of irqbalance now."""
        return self.view.irqbalance

    def declined(self, reason: str) -> Declined:
        """That this policy has nothing to do here."""
        return Declined(self.policy.name, self.subject, reason)


@dataclass(frozen=True, slots=True)
class Solution:
    """The changes that an action takes, possibly none because all is so already, and what it leaves alone."""

    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


Solver = Callable[[Situation], Solution | Declined]


def nic_target(nic: Nic, queue: int | None = None, queue_role: str | None = None, irq: int | None = None) -> Target:
    """A NIC, or one queue of it, by its bus address and MAC; the interface's name and IRQ number are for people."""
    return Target(
        bus_address=nic.bus_address,
        virtio=nic.virtio,
        mac=nic.mac,
        queue=queue,
        queue_role=queue_role,
        interface=nic.name,
        irq=irq,
    )


def ethtool_change(
    nic: Nic, what: tuple[TunableKind, str, str], old: Mapping[str, str], new: Mapping[str, str], why: str
) -> Change:
    """Some keys of one of ethtool's settings, by key old and new; ``what`` is the kind, its word and the option.

    The target's ``parameter`` names the keys, and the values are texts such as ``rx=256 tx=256``.
    """
    kind, word, option = what

    def line(values: Mapping[str, str]) -> str:
        words = (part for key, value in values.items() for part in (key, value))
        return shlex.join(["ethtool", option, nic.name, *words])

    return Change(
        kind=kind,
        target=replace(nic_target(nic), parameter=" ".join(new)),
        where=f"ethtool {word} of {nic.name}: {', '.join(new)}",
        old=_settings(old),
        new=_settings(new),
        why=why,
        do=line(new),
        undo=line(old),
    )


def _settings(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())


def echo(value: str, path: str) -> str:
    """The shell line that writes a value. Interface names may hold ``$``, ``;`` and quotes: both sides are quoted."""
    return f"echo {shlex.quote(value)} > {shlex.quote(path)}"


def undo_echo(old: str | None, path: str) -> str | None:
    """The shell line that writes the old value back; None where it is not known or could not be written."""
    return echo(old, path) if old else None


def text_of(cpus: CpuSet | None) -> str | None:
    """A CPU set in the kernel's list form; None where it is unknown."""
    return None if cpus is None else str(cpus)


def mask_of(cpus: CpuSet | None) -> str | None:
    """A CPU set in the kernel's mask form, as xps_cpus and rps_cpus print it; None where it is unknown."""
    return None if cpus is None else cpus.mask()

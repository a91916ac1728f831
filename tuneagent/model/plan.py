"""What to change, exactly: each tunable with its old and new value, why, and how to do and undo it by hand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuneagent.model.finding import Finding
from tuneagent.model.identity import Role
from tuneagent.model.policy import Disruption, Expectation, Guard


class TunableKind(StrEnum):
    """The kinds of thing that can be changed; their order of application is ``ORDER``."""

    IRQBALANCE_UNIT = "irqbalance-unit"
    IRQBALANCE_BAN = "irqbalance-ban"
    CHANNELS = "channels"
    RINGS = "rings"
    COALESCING = "coalescing"
    # Numbers of interrupts are those of the queues in use, and a file's ban lists them too: channels first.
    IRQBALANCE_RUNTIME_BAN = "irqbalance-runtime-ban"
    IRQ_AFFINITY = "irq-affinity"
    XPS_CPUS = "xps-cpus"
    RPS_CPUS = "rps-cpus"
    RPS_SOCK_FLOW_ENTRIES = "rps-sock-flow-entries"
    RPS_FLOW_COUNT = "rps-flow-count"
    NAPI_DEFER_HARD_IRQS = "napi-defer-hard-irqs"
    GRO_FLUSH_TIMEOUT = "gro-flush-timeout"
    KVM_PARAMETER = "kvm-parameter"
    EMULATOR_PIN = "emulator-pin"
    VHOST_AFFINITY = "vhost-affinity"
    DOMAIN_INTERFACE_DRIVER = "domain-interface-driver"
    DOMAIN_INTERFACE_LIVE = "domain-interface-live"
    """The same attribute on the running device, which is detached and attached for it."""


ORDER: tuple[TunableKind, ...] = tuple(TunableKind)
"""irqbalance first, then channels, rings, coalescing, affinity, XPS and RPS.

virtio_net rewrites affinity and XPS when queues change.

The emulator's pin before the vhost workers' affinity, for where these are threads of QEMU it moves them too.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """What a change is made to, by an identity that survives re-probe and renaming; numbers are looked up again."""

    bus_address: str | None = None
    virtio: str | None = None
    mac: str | None = None
    queue: int | None = None
    queue_role: str | None = None
    domain_uuid: str | None = None
    alias: str | None = None
    """libvirt's alias of an interface, ``net0``."""
    address: str | None = None
    """PCI address of an interface in the guest: MACs need not be unique."""
    position: int | None = None
    """Place among the interfaces of the definition that is changed, from 0."""
    thread_role: str | None = None
    """``vhost`` or ``emulator``; with the domain it says which threads are meant."""
    kernel_thread: bool | None = None
    """Whether the vhost worker is a kernel thread and no thread of QEMU."""
    parameter: str | None = None
    """A module parameter, ``kvm.halt_poll_ns``, or an attribute of an interface's ``<driver>``, ``event_idx``."""
    unit: str | None = None
    interface: str | None = None
    """Name at the time of the plan, for people."""
    ifindex: int | None = None
    """The kernel's number of the interface when it was changed: within a boot it is this one, whatever it is called."""
    irq: int | None = None
    """Number at the time of the plan, for people."""
    tid: int | None = None
    """Thread at the time of the plan."""
    start_ticks: int | None = None
    """When that thread began (field 22 of /proc/PID/stat): together they mean this thread and no later one."""
    uri: str | None = None
    """libvirt's connection that has the domain; None for the system's own."""


@dataclass(frozen=True, slots=True)
class Change:
    """One tunable, old and new. ``do`` and ``undo`` are shell lines that make and take back the same change."""

    kind: TunableKind
    target: Target
    where: str
    """The file, command or definition that is written: ``/proc/irq/38/smp_affinity_list``."""
    old: str | None
    """None when it could not be read; then there is no ``undo``."""
    new: str
    why: str
    do: str
    undo: str | None
    elsewhere: tuple[str, ...] = ()
    """Values that would do nearly as well, best first, where the kernel has no room for ``new`` (ENOSPC)."""
    diff: tuple[str, ...] = ()
    """Of an XML element: ``- ``, ``+ `` and two blanks before the lines that go, come and stay."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A finding, the policy that answers it, and the exact changes."""

    id: str
    """Stable from run to run: policy and subject, ``pin-queue-interrupts:eth0``."""
    policy: str
    title: str
    subject: str
    findings: tuple[Finding, ...]
    role: Role
    changes: tuple[Change, ...]
    disruption: Disruption
    expects: tuple[Expectation, ...]
    guards: tuple[Guard, ...]
    notes: tuple[str, ...]
    """What it leaves alone and why: unmovable interrupts, CPUs avoided."""
    apply_command: str
    avoid_when: str = ""
    """When the policy should not be used, in its own words."""
    undo_note: str = ""
    """What the undo lines do not say: how else the change ends, and what else goes back."""


@dataclass(frozen=True, slots=True)
class Declined:
    """A policy that answers a finding and has nothing it can do here, with the reason."""

    policy: str
    subject: str
    reason: str
    rules: tuple[str, ...] = ()
    """The findings on that subject that it would have answered."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All advice, worst finding first and then most to gain, and the policies that had nothing to do."""

    advice: tuple[Advice, ...]
    declined: tuple[Declined, ...]

    def only(self, subjects: frozenset[str]) -> Plan:
        """The part of the plan that is about these subjects."""
        return Plan(
            tuple(one for one in self.advice if one.subject in subjects),
            tuple(one for one in self.declined if one.subject in subjects),
        )

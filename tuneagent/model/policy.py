"""A policy: a file that says when, what, why, and what must hold afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuneagent.model.identity import Role


class Disruption(StrEnum):
    """What applying a change costs the traffic that runs."""

    NONE = "none"
    LINK_FLAP = "link-flap"
    COLD_START = "cold-start"


class Action(StrEnum):
    """What the solver knows how to work out. Each is one module of ``tuneagent.plan``."""

    PIN_QUEUE_INTERRUPTS = "pin-queue-interrupts"
    IRQBALANCE_BAN = "irqbalance-ban"
    IRQBALANCE_BAN_NOW = "irqbalance-ban-now"
    IRQBALANCE_OFF = "irqbalance-off"
    IRQBALANCE_ON = "irqbalance-on"
    EVENT_INDEX_ON = "event-index-on"
    SET_CHANNELS = "set-channels"
    XPS_BY_QUEUE = "xps-by-queue"
    RPS_SPREAD = "rps-spread"
    RPS_OFF = "rps-off"
    DEFER_INTERRUPTS = "defer-interrupts"
    RINGS_MAX = "rings-max"
    COALESCING = "coalescing"
    RECEIVE_FLOW_STEERING = "receive-flow-steering"
    VHOST_ON = "vhost-on"
    DOMAIN_QUEUES = "domain-queues"
    VHOST_AFFINITY = "vhost-affinity"
    EMULATOR_PIN = "emulator-pin"
    HALT_POLLING_OFF = "halt-polling-off"
    HALT_POLLING_ON = "halt-polling-on"


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a policy should improve, by how much, and where that number comes from."""

    metric: str
    direction: str
    """``up`` or ``down``."""
    percent_low: float
    percent_high: float
    source: str
    rules: tuple[str, ...] = ()
    """The findings for which it was measured; empty for all that the policy answers."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What must not get worse by more than this, or the change is given back."""

    metric: str
    worse_percent_max: float


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy file, validated."""

    name: str
    title: str
    rules: tuple[str, ...]
    """Findings that it answers; none: it is applied by name only, and never advised."""
    role: Role
    """The side on which it is applied."""
    actions: tuple[Action, ...]
    parameters: dict[str, int]
    why: str
    source: str
    """The document, commit or report that the policy rests on."""
    requires: tuple[str, ...]
    disruption: Disruption
    expects: tuple[Expectation, ...]
    guards: tuple[Guard, ...]
    path: str
    """The file it came from."""
    avoid_when: str = ""
    """When not to use it, for people."""
    undo: str = ""
    """How it is taken back and what stays behind, for people; the exact lines are the plan's."""

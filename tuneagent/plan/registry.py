"""Which solver works out which action. Explicit: a module that is not named here does nothing."""

from __future__ import annotations

from tuneagent.model.policy import Action
from tuneagent.plan import (
    coalescing,
    defer_interrupts,
    domain_queues,
    emulator_pin,
    event_index_on,
    halt_polling_off,
    halt_polling_on,
    irqbalance_ban,
    irqbalance_ban_now,
    irqbalance_off,
    irqbalance_on,
    pin_queue_interrupts,
    receive_flow_steering,
    rings_max,
    rps_off,
    rps_spread,
    set_channels,
    vhost_affinity,
    vhost_on,
    xps_by_queue,
)
from tuneagent.plan.situation import Solver

SOLVERS: tuple[tuple[Action, Solver], ...] = (
    (Action.PIN_QUEUE_INTERRUPTS, pin_queue_interrupts.solve),
    (Action.IRQBALANCE_BAN, irqbalance_ban.solve),
    (Action.IRQBALANCE_BAN_NOW, irqbalance_ban_now.solve),
    (Action.IRQBALANCE_OFF, irqbalance_off.solve),
    (Action.IRQBALANCE_ON, irqbalance_on.solve),
    (Action.EVENT_INDEX_ON, event_index_on.solve),
    (Action.SET_CHANNELS, set_channels.solve),
    (Action.XPS_BY_QUEUE, xps_by_queue.solve),
    (Action.RPS_SPREAD, rps_spread.solve),
    (Action.RPS_OFF, rps_off.solve),
    (Action.DEFER_INTERRUPTS, defer_interrupts.solve),
    (Action.RINGS_MAX, rings_max.solve),
    (Action.COALESCING, coalescing.solve),
    (Action.RECEIVE_FLOW_STEERING, receive_flow_steering.solve),
    (Action.VHOST_ON, vhost_on.solve),
    (Action.DOMAIN_QUEUES, domain_queues.solve),
    (Action.VHOST_AFFINITY, vhost_affinity.solve),
    (Action.EMULATOR_PIN, emulator_pin.solve),
    (Action.HALT_POLLING_OFF, halt_polling_off.solve),
    (Action.HALT_POLLING_ON, halt_polling_on.solve),
)

OF_THE_MACHINE = frozenset(
    {Action.IRQBALANCE_OFF, Action.IRQBALANCE_ON, Action.HALT_POLLING_OFF, Action.HALT_POLLING_ON}
)
"""Actions on the whole machine; all others are on one NIC, or one virtual machine or interface of it."""

OF_A_DOMAIN = frozenset({Action.VHOST_AFFINITY, Action.EMULATOR_PIN})
"""Actions on a virtual machine of this host."""

OF_A_DOMAIN_INTERFACE = frozenset({Action.VHOST_ON, Action.DOMAIN_QUEUES, Action.EVENT_INDEX_ON})
"""Actions on an interface of a virtual machine's definition."""

FROM_INSIDE = frozenset({Action.EVENT_INDEX_ON})
"""Of these, the actions that can be worked out inside the guest too, on its NIC."""

OF_ANY_NIC = frozenset({Action.RPS_OFF})
"""Actions on interfaces that need not be virtio: taking a useless map away is the same for all."""


def solver_of(action: Action) -> Solver:
    """The solver for an action."""
    return next(solver for known, solver in SOLVERS if known is action)

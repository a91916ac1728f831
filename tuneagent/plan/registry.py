"""Which solver works out which action. Explicit: a module that is not named here does nothing."""

from __future__ import annotations

from tuneagent.model.policy import Action
from tuneagent.plan import (
    defer_interrupts,
    event_index_on,
    irqbalance_ban,
    irqbalance_off,
    irqbalance_on,
    pin_queue_interrupts,
    rps_off,
    rps_spread,
    set_channels,
    xps_by_queue,
)
from tuneagent.plan.situation import Solver

SOLVERS: tuple[tuple[Action, Solver], ...] = (
    (Action.PIN_QUEUE_INTERRUPTS, pin_queue_interrupts.solve),
    (Action.IRQBALANCE_BAN, irqbalance_ban.solve),
    (Action.IRQBALANCE_OFF, irqbalance_off.solve),
    (Action.IRQBALANCE_ON, irqbalance_on.solve),
    (Action.EVENT_INDEX_ON, event_index_on.solve),
    (Action.SET_CHANNELS, set_channels.solve),
    (Action.XPS_BY_QUEUE, xps_by_queue.solve),
    (Action.RPS_SPREAD, rps_spread.solve),
    (Action.RPS_OFF, rps_off.solve),
    (Action.DEFER_INTERRUPTS, defer_interrupts.solve),
)

OF_THE_MACHINE = frozenset({Action.IRQBALANCE_OFF, Action.IRQBALANCE_ON})
"""Actions on the whole machine; all others are on one NIC."""

OF_ANY_NIC = frozenset({Action.RPS_OFF})
"""Actions on interfaces that need not be virtio: taking a useless map away is the same for all."""


def solver_of(action: Action) -> Solver:
    """The solver for an action."""
    return next(solver for known, solver in SOLVERS if known is action)

"""What irqbalance was told to leave alone: its own command line and its environment file together."""

from __future__ import annotations

from tuneagent.model.irqbalance import Irqbalance
from tuneagent.model.view import View


def running(view: View) -> bool | None:
    """Whether irqbalance runs; None when that is not known."""
    balancer = view.irqbalance
    return balancer.running if balancer is not None else None


def banned(view: View, irq: int) -> bool:
    """Whether irqbalance was told to leave this interrupt alone, by number or by driver or interrupt name.

    A ban over its socket cannot be seen here. ``--banmod`` matches any part of a name (irqbalance(1)).
    """
    balancer = view.irqbalance
    if balancer is None:
        return False
    line = view.after.irq(irq)
    names = line.actions if line is not None else ()
    return irq in _irqs(balancer) or any(module and module in name for module in _modules(balancer) for name in names)


def _irqs(balancer: Irqbalance) -> frozenset[int]:
    return balancer.banned_irqs | (balancer.config.banned_irqs if balancer.config is not None else frozenset())


def _modules(balancer: Irqbalance) -> tuple[str, ...]:
    return balancer.banned_modules + (balancer.config.banned_modules if balancer.config is not None else ())

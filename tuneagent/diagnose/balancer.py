"""What irqbalance was told to leave alone: by its command line or its socket, else by its environment file."""

from __future__ import annotations

from tuneagent.model.view import View


def running(view: View) -> bool | None:
    """Whether irqbalance runs; None when that is not known."""
    balancer = view.irqbalance
    return balancer.running if balancer is not None else None


def banned(view: View, irq: int) -> bool:
    """Whether irqbalance was told to leave this interrupt alone."""
    balancer, line = view.irqbalance, view.after.irq(irq)
    return balancer is not None and balancer.leaves(irq, line.actions if line is not None else ())

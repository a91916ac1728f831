"""Whether something other than irqbalance moves a NIC's interrupts, as far as two samples show."""

from __future__ import annotations

from tuneagent.model.irq import IrqLine, QueueIrq
from tuneagent.model.irqbalance import Irqbalance
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

MIN_INTERRUPTS = 100
"""Fewer in the interval show nothing of where an interrupt went."""
ASTRAY_PERCENT = 10.0
"""A share that a CPU takes which the interrupt is not placed on; less is one move near an end of the interval."""


def moved_by_another(view: View, nic: Nic) -> bool:
    """Whether a queue interrupt moved that irqbalance is known not to have moved: it does not run, or was told so.

    False as well where it is not known whether irqbalance runs, and with one sample.
    """
    if view.before is None:
        return False
    ends = (view.before.irqbalance, view.after.irqbalance)
    return any(
        _moved(view, irq) and all(_leaves(end, view.after.irq(irq.irq)) for end in ends) for irq in nic.data_irqs_in_use
    )


def _leaves(balancer: Irqbalance | None, line: IrqLine | None) -> bool:
    """Whether irqbalance does not run, or runs and was told to leave this interrupt."""
    if balancer is None or balancer.running is None or line is None:
        return False
    return not balancer.running or balancer.leaves(line.irq, line.actions)


def _moved(view: View, irq: QueueIrq) -> bool:
    """Whether it is placed elsewhere than before, or fell on a CPU where it was placed at neither end."""
    line = view.after.irq(irq.irq)
    return view.moved(irq.irq) or (line is not None and _astray(view, irq, line))


def _astray(view: View, irq: QueueIrq, line: IrqLine) -> bool:
    rate, placed = view.rate_of(irq), line.effective_affinity
    # A controller that spreads an interrupt over several CPUs by itself has moved nothing.
    if rate is None or rate.count < MIN_INTERRUPTS or placed is None or len(placed) != 1:
        return False
    astray = sum(count for cpu, count in rate.per_cpu.items() if cpu not in placed)
    return 100.0 * astray / rate.count > ASTRAY_PERCENT

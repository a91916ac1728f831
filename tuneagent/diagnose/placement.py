"""Where a queue interrupt goes: where it fell within the interval, else where its next one will fall.

What smp_affinity allows decides nothing by itself: x86 delivers a message-signalled interrupt to one CPU of the mask,
which effective_affinity names (kernel/irq/proc.c ``show_irq_affinity``). Counts since boot are history.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.diagnose import sources
from tuneagent.diagnose.thresholds import MIN_INTERRUPTS, SETTLED_SHARE_PERCENT
from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.view import View


@dataclass(frozen=True, slots=True)
class Landing:
    """One interrupt and the CPUs that serve it."""

    irq: QueueIrq
    count: int | None
    """Interrupts in the interval on CPUs present in both samples; None without rates."""
    cpus: tuple[int, ...]
    """Where it fell, busiest first, if it was busy; else where it will fall. Empty when that is unknown."""
    top_percent: float | None
    """Share of the busiest CPU, for a busy interrupt only."""
    source: str
    """The file that says so."""

    @property
    def busy(self) -> bool:
        """Whether it fired often enough for its distribution to mean something."""
        return self.count is not None and self.count >= MIN_INTERRUPTS

    @property
    def bounces(self) -> bool:
        """Busy, and no CPU takes nearly all of it."""
        return self.top_percent is not None and self.top_percent < SETTLED_SHARE_PERCENT and len(self.cpus) > 1

    @property
    def home(self) -> int | None:
        """The one CPU that serves it; None when it has several or it is unknown."""
        if self.busy:
            return None if self.bounces or not self.cpus else self.cpus[0]
        return self.cpus[0] if len(self.cpus) == 1 else None


def landing(view: View, irq: QueueIrq) -> Landing:
    """Where this interrupt goes, from the best that is known."""
    rate = view.rate_of(irq)
    grown = (
        {cpu: count for cpu, count in rate.per_cpu.items() if count > 0 and 0 <= cpu < MAX_CPUS}
        if rate is not None
        else {}
    )
    count = sum(grown.values())
    if rate is not None and count >= MIN_INTERRUPTS:
        order = tuple(sorted(grown, key=lambda cpu: (-grown[cpu], cpu)))
        return Landing(irq, count, order, 100.0 * grown[order[0]] / count, sources.INTERRUPTS)
    line = view.after.irq(irq.irq)
    by_mask = line is not None and line.placed_by_mask
    source = sources.affinity(irq.irq) if by_mask else sources.effective_affinity(irq.irq)
    return Landing(irq, None if rate is None else count, tuple(line.served_by) if line else (), None, source)


def landings(view: View, irqs: tuple[QueueIrq, ...]) -> tuple[Landing, ...]:
    """Where each of these goes."""
    return tuple(landing(view, irq) for irq in irqs)


def receive_landings(view: View, nic: Nic) -> dict[int, Landing]:
    """By queue pair, where its receive interrupt goes, or its transmit interrupt where it has no other."""
    chosen: dict[int, Landing] = {}
    for queue, irqs in nic.pairs_in_use().items():
        chosen[queue] = landing(view, min(irqs, key=lambda irq: irq.role is not QueueRole.INPUT))
    return chosen


def queues_of(landed: tuple[Landing, ...]) -> tuple[int, ...]:
    """Queue indices of these interrupts, each once, in order."""
    return tuple(sorted({item.irq.queue for item in landed if item.irq.queue is not None}))


def irqs_of(landed: tuple[Landing, ...]) -> tuple[int, ...]:
    """Numbers of these interrupts, in order."""
    return tuple(sorted(item.irq.irq for item in landed))

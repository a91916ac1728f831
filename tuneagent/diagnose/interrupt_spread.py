"""interrupt-spread: one queue's interrupt is served by several CPUs within the interval."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.diagnose import balancer, sources
from tuneagent.diagnose.placement import Landing, irqs_of, landings, queues_of
from tuneagent.diagnose.subjects import data_irqs, measured, no_interrupts, no_rates, quiet, single_cpu, virtio_nics
from tuneagent.diagnose.thresholds import MIN_INTERRUPTS
from tuneagent.diagnose.wording import counted, cpu_list, named
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "interrupt-spread"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC, by growth within the interval; nothing on a machine with one CPU."""
    return () if single_cpu(view) else tuple(_nic(view, nic) for nic in virtio_nics(view))


def _nic(view: View, nic: Nic) -> Judgement:
    irqs = data_irqs(nic)
    if not measured(view):
        return no_rates(view, NAME, nic.name)
    if not irqs:
        return no_interrupts(NAME, nic)
    landed = landings(view, irqs)
    busy = tuple(item for item in landed if item.busy)
    if busy:
        bouncing = tuple(item for item in busy if item.bounces)
        return _finding(view, nic, bouncing) if bouncing else Clear(NAME, nic.name, _evidence(busy))
    counts = [item.count for item in landed if item.count is not None]
    if not counts:
        return Unjudged(NAME, nic.name, f"the interrupts of {nic.name} were not counted in both samples")
    return quiet(NAME, nic.name, f"the busiest queue had {counted(max(counts), 'interrupt')}, needs {MIN_INTERRUPTS}")


def _finding(view: View, nic: Nic, bouncing: tuple[Landing, ...]) -> Finding:
    worst = min(bouncing, key=lambda item: item.top_percent or 0.0)
    cpus = CpuSet.of(cpu for item in bouncing for cpu in item.cpus)
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING,
        f"{counted(len(bouncing), 'queue interrupt')} of {nic.name} bounce between CPUs",
        f"{named(irqs_of(bouncing), 'IRQ')} fell on {cpu_list(cpus)} within the interval; of IRQ {worst.irq.irq} the "
        f"busiest CPU took {figure(worst.top_percent or 0.0)} %. {_mover(view, bouncing)}",
        (*_evidence(bouncing), *_places(view, bouncing)),
        irqs_of(bouncing),
        queues_of(bouncing),
        tuple(cpus),
    )


def _evidence(landed: tuple[Landing, ...]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(f"irq{item.irq.irq}_busiest_cpu_percent", item.top_percent, "%", sources.INTERRUPTS) for item in landed
    )


def _places(view: View, landed: tuple[Landing, ...]) -> Iterator[Evidence]:
    for item in landed:
        now = str(CpuSet.of(item.cpus))
        yield Evidence(f"irq{item.irq.irq}_cpus_in_interval", now, "CPU list", sources.INTERRUPTS)
        yield from _moved(view, item.irq.irq)


def _moved(view: View, irq: int) -> Iterator[Evidence]:
    """The affinities of an interrupt that differ between the two samples."""
    old = view.before.irq(irq) if view.before is not None else None
    new = view.after.irq(irq)
    if old is None or new is None:
        return
    pairs = (
        ("effective_affinity", old.effective_affinity, new.effective_affinity, sources.effective_affinity(irq)),
        ("affinity", old.affinity, new.affinity, sources.affinity(irq)),
    )
    for name, before, after, source in pairs:
        if before is not None and after is not None and before != after:
            yield Evidence(f"irq{irq}_{name}", f"{before} -> {after}", "CPU list", source)


def _mover(view: View, bouncing: tuple[Landing, ...]) -> str:
    """Who moves them, as far as it shows."""
    moved = [item.irq.irq for item in bouncing if any(_moved(view, item.irq.irq))]
    balanced = [item.irq.irq for item in bouncing if not balancer.banned(view, item.irq.irq)]
    several = [item.irq.irq for item in bouncing if _many(view, item.irq.irq)]
    changed = f"The affinity of {named(moved, 'IRQ')} differs between the two samples" if moved else ""
    if balancer.running(view) and balanced:
        return f"{changed or 'No affinity differs at the two ends'}; irqbalance runs and may move them."
    if changed:
        return f"{changed}; {_balancer_state(view, balanced)}."
    if several:
        return (
            f"The interrupt controller itself spreads {named(several, 'IRQ')}: the effective affinity has several CPUs."
        )
    unknown = " Whether irqbalance runs is not known." if balancer.running(view) is None else ""
    return f"Mover not seen: no affinity differs at the two ends.{unknown}"


def _balancer_state(view: View, balanced: list[int]) -> str:
    """Why irqbalance is not named as the mover."""
    runs = balancer.running(view)
    if runs is None:
        return "whether irqbalance runs is not known"
    return (
        "irqbalance does not run, so something else moves them"
        if not runs or balanced
        else "they are banned in irqbalance"
    )


def _many(view: View, irq: int) -> bool:
    line = view.after.irq(irq)
    return line is not None and line.effective_affinity is not None and len(line.effective_affinity) > 1

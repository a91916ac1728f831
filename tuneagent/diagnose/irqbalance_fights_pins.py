"""irqbalance-fights-pins: irqbalance runs over interrupts that somebody placed and did not ban."""

from __future__ import annotations

from tuneagent.diagnose import balancer, sources
from tuneagent.diagnose.placement import landings
from tuneagent.diagnose.subjects import data_irqs, no_interrupts, no_topology, online, single_cpu, virtio_nics
from tuneagent.diagnose.wording import SENTENCE_LENGTH, clean, named
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.irq import IrqLine
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "irqbalance-fights-pins"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC where irqbalance runs or may; where it does not, only of interrupts that moved."""
    runs = _runs(view)
    if single_cpu(view):
        return ()
    if runs is False:
        return tuple(found for nic in virtio_nics(view) for found in _moved_by_another(view, nic))
    return tuple(_nic(view, nic, runs=runs) for nic in virtio_nics(view))


def _moved_by_another(view: View, nic: Nic) -> tuple[Finding, ...]:
    """Pins that moved although irqbalance does not run. Those that may go anywhere are the kernel's to place.

    Of those that were busy and bounced, interrupt-spread tells the same.
    """
    cpus = online(view)
    told = {item.irq.irq for item in landings(view, data_irqs(nic)) if item.bounces}
    moved = [
        line
        for line in _lines(view, nic)
        if cpus is not None and line.irq not in told and _changes(view, line) and _was_pinned(view, line)
    ]
    return (_moved(view, nic, moved, [], runs=False),) if moved else ()


def _was_pinned(view: View, line: IrqLine) -> bool:
    """Whether either mask was narrower than all CPUs."""
    cpus = online(view)
    old = view.before.irq(line.irq) if view.before is not None else None
    return cpus is not None and any(one is not None and _hand_pinned(one, cpus) for one in (old, line))


def _lines(view: View, nic: Nic) -> list[IrqLine]:
    return [line for irq in data_irqs(nic) if (line := view.after.irq(irq.irq)) is not None]


def _runs(view: View) -> bool | None:
    """Whether irqbalance ran at either end of the interval."""
    ends = [
        end.irqbalance.running if end.irqbalance is not None else None
        for end in (view.before, view.after)
        if end is not None
    ]
    return True if True in ends else (None if None in ends else False)


def _nic(view: View, nic: Nic, *, runs: bool | None) -> Judgement:
    cpus, lines = online(view), _lines(view, nic)
    if not lines:
        return no_interrupts(NAME, nic)
    if cpus is None:
        return no_topology(NAME, nic.name)
    moved = [line for line in lines if _changes(view, line)]
    free = [line for line in lines if not balancer.banned(view, line.irq)]
    if moved:
        return _moved(view, nic, moved, free, runs=runs)
    if not runs:
        return Unjudged(NAME, nic.name, "whether irqbalance runs is not known")
    pinned = [line for line in free if _hand_pinned(line, cpus)]
    return _pinned(nic, pinned) if pinned else _clear(view, nic, len(lines) - len(free))


def _hand_pinned(line: IrqLine, cpus: CpuSet) -> bool:
    """Narrower than all CPUs and not what the driver itself asked for."""
    affinity = line.affinity
    return bool(affinity) and affinity is not None and bool(cpus - affinity) and affinity != line.affinity_hint


def _changes(view: View, line: IrqLine) -> tuple[Evidence, ...]:
    """What differs of an interrupt's placement between the two samples."""
    old = view.before.irq(line.irq) if view.before is not None else None
    if old is None:
        return ()
    pairs = (
        ("affinity", old.affinity, line.affinity, sources.affinity(line.irq)),
        ("effective_affinity", old.effective_affinity, line.effective_affinity, sources.effective_affinity(line.irq)),
    )
    return tuple(
        Evidence(f"irq{line.irq}_{name}", f"{before} -> {after}", "CPU list", source)
        for name, before, after, source in pairs
        if before is not None and after is not None and before != after
    )


def _moved(view: View, nic: Nic, moved: list[IrqLine], free: list[IrqLine], *, runs: bool | None) -> Finding:
    numbers = tuple(sorted(line.irq for line in moved))
    who = "irqbalance runs and is free to move them"
    if not any(line in free for line in moved):
        who = "irqbalance is told to leave them, so it may be something else"
    if runs is None:
        who = "whether irqbalance runs is not known, so what moved them was not seen"
    if runs is False:
        who = "irqbalance does not run, so something else moved them"
    return _finding(
        nic,
        Severity.WARNING,
        f"{named(numbers, 'IRQ')} of {nic.name} moved {'while irqbalance runs' if runs else 'within the interval'}",
        f"The affinity of {named(numbers, 'IRQ')} changed between the two samples; {who}.",
        (_process(view), *(change for line in moved for change in _changes(view, line))),
        numbers,
    )


def _pinned(nic: Nic, pinned: list[IrqLine]) -> Finding:
    numbers = tuple(sorted(line.irq for line in pinned))
    return _finding(
        nic,
        Severity.INFO,
        f"irqbalance may move {named(numbers, 'IRQ')} of {nic.name}",
        f"{named(numbers, 'IRQ')} may go to some CPUs only and irqbalance was not told to leave them: either it placed "
        "them itself, or it will undo what somebody did by hand.",
        tuple(
            Evidence(f"irq{line.irq}_affinity", str(line.affinity), "CPU list", sources.affinity(line.irq))
            for line in pinned
        ),
        numbers,
    )


def _finding(
    nic: Nic, severity: Severity, title: str, why: str, evidence: tuple[Evidence, ...], irqs: tuple[int, ...]
) -> Finding:
    queues = tuple(sorted({irq.queue for irq in data_irqs(nic) if irq.irq in irqs and irq.queue is not None}))
    return Finding(NAME, nic.name, severity, title, why, evidence, irqs, queues)


def _process(view: View) -> Evidence:
    known = view.irqbalance
    command = " ".join(known.command) if known is not None else ""
    return Evidence("irqbalance_command", clean(command, SENTENCE_LENGTH) or "unknown", "", sources.IRQBALANCE)


def _clear(view: View, nic: Nic, banned: int) -> Clear:
    return Clear(
        NAME, nic.name, (_process(view), Evidence("banned_interrupts", banned, "interrupts", sources.IRQBALANCE))
    )

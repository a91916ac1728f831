"""irq-descriptor-contention: CPUs wait for the lock of an interrupt's descriptor."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.diagnose import balancer, sources
from tuneagent.diagnose.lock_waits import Waits, by_tasks, parted, reads_list, recorded, without_finding
from tuneagent.diagnose.subjects import data_irqs, virtio_nics
from tuneagent.diagnose.wording import SENTENCE_LENGTH, clean, counted, cpu_list, listed, named
from tuneagent.model.contention import Contended, LockGroup
from tuneagent.model.finding import Evidence, Finding, Judgement, Severity
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "irq-descriptor-contention"
UNNAMED_SUBJECT = "interrupts"
"""Where no event tells which: no NIC's policy may answer that."""
SHOWN_CALLERS = 4
_BALANCER = {
    True: "irqbalance runs and may move it",
    False: "irqbalance does not run",
    None: "whether irqbalance runs is not known",
}
_AFFINITY = ("irq_set_affinity", "__irq_set_affinity", "irq_do_set_affinity", "write_irq_affinity", "irq_affinity_")
"""Beginnings of the functions of kernel/irq/manage.c and proc.c that place an interrupt."""


def judge(view: View) -> tuple[Judgement, ...]:
    """One finding a virtio NIC or other interrupt above the thresholds, or one judgement of the machine."""
    waits = recorded(view, LockGroup.IRQ_DESCRIPTOR)
    found = tuple(_finding(view, subject, part) for subject, part in _parts(view, waits) if part.too_many)
    if not found and waits is not None and waits.too_many:  # many interrupts, each with a little
        found = (_finding(view, UNNAMED_SUBJECT, waits),)
    return found or without_finding(view, NAME, waits)


def _parts(view: View, waits: Waits | None) -> Iterator[tuple[str, Waits]]:
    """The waits by whose interrupt it is, in order of the names."""
    if waits is None:
        return
    owners = {irq.irq: nic.name for nic in virtio_nics(view) for irq in data_irqs(nic)}
    by_subject: dict[str, list[Contended]] = {}
    for row in waits.rows:
        subject = UNNAMED_SUBJECT if row.irq is None else owners.get(row.irq, f"irq{row.irq}")
        by_subject.setdefault(subject, []).append(row)
    for subject in sorted(by_subject):
        yield subject, parted(waits, by_subject[subject])


def _finding(view: View, subject: str, waits: Waits) -> Finding:
    irqs = tuple(sorted({row.irq for row in waits.rows if row.irq is not None}))
    nic = view.after.nic(subject)
    queues = {irq.queue for irq in data_irqs(nic) if irq.irq in irqs and irq.queue is not None} if nic else set()
    verb = "wait" if len(waits.cpus) > 1 else "waits"
    causes = " ".join(_causes(view, waits, irqs))
    return Finding(
        NAME,
        subject,
        Severity.WARNING,
        f"{cpu_list(waits.cpus)} {verb} for the descriptor lock of {_whose(waits, nic)}",
        f"{waits.described}. {causes}",
        (*waits.evidence, *_callers(waits), *_how_known(waits)),
        irqs,
        tuple(sorted(queues)),
        waits.cpus,
    )


def _whose(waits: Waits, nic: Nic | None) -> str:
    names = list(dict.fromkeys(row.subject or f"IRQ {row.irq}" for row in waits.rows if row.irq is not None))
    if not names:
        return "some interrupt"
    return f"{listed(names)}{f' of {clean(nic.name)}' if nic is not None else ''}"


def _causes(view: View, waits: Waits, irqs: tuple[int, ...]) -> Iterator[str]:
    """Who takes the lock, by the functions that wait: each of them is in the others' way."""
    readers = parted(waits, (row for row in waits.rows if reads_list(row)))
    writers = parted(waits, (row for row in waits.rows if _places(row) and not reads_list(row)))
    handlers = parted(waits, (row for row in waits.rows if row.caller.startswith("handle_")))
    if len(handlers.cpus) > 1:
        yield f"{cpu_list(handlers.cpus)} take it at the same time. {_spread(view, irqs)}"
    elif handlers.rows:
        yield f"{cpu_list(handlers.cpus)} waits in the handling of the interrupt."
    if writers.rows:
        yield f"Its affinity is set meanwhile ({counted(writers.count, 'wait')}{by_tasks(writers)})."
    if readers.rows:
        yield f"The list of interrupts is read meanwhile ({counted(readers.count, 'wait')}{by_tasks(readers)})."
    if not (handlers.rows or writers.rows or readers.rows):
        yield f"They wait in {listed(dict.fromkeys(row.caller for row in waits.rows))}."


def _places(row: Contended) -> bool:
    return any(name.startswith(_AFFINITY) for name in (row.caller, *row.callers[:3]))


def _spread(view: View, irqs: tuple[int, ...]) -> str:
    """What sends it to several CPUs, as far as it shows."""
    rates = [view.irqs[irq] for irq in irqs if irq in view.irqs]
    fell = {cpu for rate in rates for cpu in rate.per_cpu}
    where = f"Within the interval {named(irqs, 'IRQ')} fell on {cpu_list(fell)}; " if irqs and fell else ""
    moved = [irq for irq in irqs if view.moved(irq)]
    if moved:
        where += f"the affinity of {named(moved, 'IRQ')} differs between the two samples; "
    return f"{where}{_BALANCER[balancer.running(view)]}."


def _callers(waits: Waits) -> Iterator[Evidence]:
    for row in waits.rows[:SHOWN_CALLERS]:
        yield Evidence(f"waits_in_{clean(row.caller)}", row.waits, "waits", sources.LOCK_RECORD)


def _how_known(waits: Waits) -> Iterator[Evidence]:
    reasons = dict.fromkeys(row.subject_reason for row in waits.rows)
    yield Evidence("how_the_interrupt_is_known", clean("; ".join(reasons), SENTENCE_LENGTH), "", sources.LOCK_RECORD)

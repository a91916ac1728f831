"""interrupt-list-readers: who reads /proc/interrupts takes every interrupt's descriptor lock, and waits for it."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.lock_waits import Waits, by_tasks, parted, reads_list, recorded, without_finding
from tuneagent.diagnose.subjects import MACHINE
from tuneagent.diagnose.thresholds import LIST_READER_WAITS_PER_SEC, LOCK_MIN_WAITS
from tuneagent.diagnose.wording import listed
from tuneagent.model.contention import LockGroup
from tuneagent.model.figure import figure
from tuneagent.model.finding import Evidence, Finding, Judgement, Severity
from tuneagent.model.view import View

NAME = "interrupt-list-readers"
OURSELVES = "tuneagent"
"""How this program's threads are called in a record."""


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement of the machine."""
    every = recorded(view, LockGroup.IRQ_DESCRIPTOR)
    if every is None:
        return without_finding(view, NAME, None)
    waits = parted(every, (row for row in every.rows if reads_list(row)))
    if waits.count >= LOCK_MIN_WAITS and waits.per_sec >= LIST_READER_WAITS_PER_SEC:
        return (_finding(waits, every),)
    return without_finding(view, NAME, waits)


def _finding(waits: Waits, every: Waits) -> Finding:
    tasks = tuple(dict.fromkeys(task for row in waits.rows for task in row.tasks))
    ours = tuple(task for task in tasks if task.startswith(OURSELVES))
    others = tuple(task for task in tasks if task not in ours)
    irqs = tuple(sorted({row.irq for row in waits.rows if row.irq is not None}))
    return Finding(
        NAME,
        MACHINE,
        Severity.INFO if ours and not others else Severity.WARNING,
        f"Reading the list of interrupts waits {figure(waits.per_sec)} times/s for interrupts' locks",
        f"{waits.described}{by_tasks(waits)}; handlers wait for the readers in turn "
        f"({figure(parted(every, (row for row in every.rows if not reads_list(row))).per_sec)} waits/s of others). "
        f"{_who(ours, others)}",
        (*waits.evidence, Evidence("readers", listed(tasks) or None, "", sources.LOCK_RECORD)),
        irqs,
        (),
        waits.cpus,
    )


def _who(ours: tuple[str, ...], others: tuple[str, ...]) -> str:
    if not ours and not others:
        return "Who reads is not known."
    if not others:
        return "It is tuneagent itself that reads: look at longer intervals."
    also = " tuneagent itself is among them." if ours else ""
    return f"A monitoring tool that reads it in a loop costs what it measures: {listed(others)}.{also}"

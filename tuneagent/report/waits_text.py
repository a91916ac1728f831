"""What a report says of waiting for locks: how often, at which locks, and which waits do not show here."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.model.contention import Contended, Contention, LockGroup, SpinVisibility
from tuneagent.model.cpuset import MAX_CPUS, CpuSet
from tuneagent.report.document import Block, Gap, Heading, Paragraph, Table
from tuneagent.report.safe import safe
from tuneagent.report.values import UNKNOWN, number, plural

MOST_ROWS = 6
"""Rows of a report of which --verbose and --json have all."""
FEW_PER_SEC = 100.0
"""Waits at all locks below which no rule finds too many at one."""
MOST_CPUS = 8
MOST_LIMITS = 4
_COLUMNS = ("lock", "of", "wanted by", "waits/s", "waited", "longest", "on CPUs", "tasks")
_OF_SOMETHING = {LockGroup.IRQ_DESCRIPTOR, LockGroup.TRANSMIT, LockGroup.QDISC}
"""Locks of an interrupt or a device, which the events tell or do not; the others' objects have no name."""
_SPIN = {
    SpinVisibility.EVERY: "Each wait for a spinlock shows here: the kernel has paravirtual spinlocks.",
    SpinVisibility.FROM_THIRD: "Of waits for spinlocks only those of a third CPU and more show here: the second one "
    "spins without the kernel's telling.",
    SpinVisibility.NONE: "No wait for a spinlock shows here: a virtual machine without paravirtual spinlocks.",
    SpinVisibility.UNKNOWN: "Which waits for spinlocks show here is not known.",
}


def waits_blocks(contention: Contention | None, *, verbose: bool = False) -> Iterator[Block]:
    """The head with waits by CPU, the places that waited longest, and what does not show; nothing where none is known.

    Few waits are counted on every machine: without a record they are for the rules, and for ``verbose``, to tell.
    """
    if contention is None or (contention.per_cpu_per_sec is None and contention.seconds is None):
        return
    if not (verbose or contention.rows or (contention.per_sec or 0.0) >= FEW_PER_SEC):
        return
    yield Gap()
    yield Heading(f"Waiting for locks: {_head(contention)}")
    shown = contention.rows if verbose else contention.rows[:MOST_ROWS]
    if shown and contention.rows_s:
        rows = tuple(_row(row, contention.rows_s) for row in shown)
        yield Table(_COLUMNS, rows, frozenset({"waits/s", "waited", "longest"}))
    if len(contention.rows) > len(shown):
        yield Paragraph(f"… {len(contention.rows) - len(shown):,} more with --verbose, or --json", 2)
    yield Paragraph(_SPIN[contention.spin], 2)
    yield from (Paragraph(sentence, 2) for sentence in _incomplete(contention))


def _head(contention: Contention) -> str:
    counted = contention.per_cpu_per_sec
    if counted is None:
        waits = sum(row.waits for row in contention.rows)
        return f"{plural(waits, 'wait')} recorded in {number(contention.seconds)} s, not counted by CPU"
    most = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    each = ", ".join(f"CPU {cpu}: {number(per_sec)}" for cpu, per_sec in most[:MOST_CPUS] if per_sec)
    more = ", …" if sum(1 for _, per_sec in most if per_sec) > MOST_CPUS else ""
    return f"{number(contention.per_sec)}/s{f' ({each}{more})' if each else ''}"


def _row(row: Contended, seconds: float) -> tuple[str, ...]:
    timed = row.paired > 0
    return (
        f"{safe(row.group.value)} ({safe(row.kind.value)})",
        safe(row.subject) if row.subject else "cannot tell" if row.group in _OF_SOMETHING else "",
        safe(row.caller),
        number(row.waits / seconds),
        f"{number(row.wait_total_ns / seconds / 1e7)} %" if timed else UNKNOWN,
        f"{number(row.wait_max_ns / 1000)} µs" if timed else UNKNOWN,
        str(CpuSet.of(cpu for cpu in row.per_cpu if 0 <= cpu < MAX_CPUS)) or UNKNOWN,
        ", ".join(safe(task) for task in row.tasks[:2]) or ", ".join(context.value for context in row.contexts),
    )


def _incomplete(contention: Contention) -> Iterator[str]:
    """What the record does not hold, as far as it is known."""
    if contention.seconds is None:
        if contention.recorded_reason:
            yield f"At which locks is not known: {safe(contention.recorded_reason)}."
        return
    lost = [
        (contention.lost, f"the kernel dropped {plural(contention.lost, 'event')}"),
        (contention.throttled, f"it was held back {plural(contention.throttled, 'time')}"),
        (contention.unpaired, f"of {plural(contention.unpaired, 'wait')} the end was not seen"),
    ]
    said = [words for count, words in lost if count]
    if said:
        yield f"In the record of {number(contention.seconds)} s {', '.join(said)}."
    yield from (f"{safe(limit)[:1].upper()}{safe(limit)[1:]}." for limit in contention.limits[:MOST_LIMITS])

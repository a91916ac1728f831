"""/proc/lock_stat and ``perf lock contention`` as tables of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.model.contention import ImportedBy, ImportedLocks, ImportedWaits, LockClass, LockStat
from tuneagent.report.document import Block, Gap, Heading, Paragraph, Table, Tone
from tuneagent.report.safe import safe
from tuneagent.report.values import NOT_KNOWN, duration, short

LONGEST_CLASS = 36
LONGEST_NAME = 27
MOST_POINTS = 4
MOST_REMARKS = 4
_WARNING = (
    "Lock debugging was switched off by a fault (see the kernel's log): these figures stand still since then, and may "
    "be incomplete."
)
_SUBJECTS = {
    ImportedBy.CALLER: "wanted by",
    ImportedBy.TASK: "task",
    ImportedBy.OWNER: "held by",
    ImportedBy.LOCK: "lock",
    ImportedBy.CGROUP: "cgroup",
}


def lock_stat_blocks(stat: LockStat | None, most: int) -> Iterator[Block]:
    """The classes that waited longest, since the table was cleared, and where; nothing without a table."""
    if stat is None:
        return
    yield Gap()
    yield Heading(f"/proc/lock_stat, version {safe(stat.version)}, since it was cleared")
    if stat.enabled is None:
        yield Paragraph("Whether it is switched on is not known: the figures may be old.", 2, Tone.WARNING)
    if stat.warning:
        yield Paragraph(_WARNING, 2, Tone.WARNING)
    ranked = sorted((one for one in stat.classes if one.contentions), key=lambda one: (-one.wait_total_us, one.name))
    if not ranked:
        yield Paragraph(f"Nobody waited for any of its locks: {len(stat.classes):,} classes.", 2)
        return
    columns = ("waits", "waited", "longest", "held for", "class")
    yield Table(columns, tuple(map(_class, ranked[:most])), frozenset(columns[:-1]))
    if len(ranked) > most:
        yield Paragraph(f"… {len(ranked) - most:,} more with --top, or --json", 2)
    for one in ranked[:most]:
        if one.points:
            waited = ", ".join(f"{safe(place)} ({count:,})" for place, count in one.points[:MOST_POINTS])
            yield Paragraph(waited, 2, label=f"{safe(one.name, LONGEST_CLASS)} is wanted at")


def _class(one: LockClass) -> tuple[str, ...]:
    return (
        short(one.contentions),
        duration(one.wait_total_us * 1000),
        duration(one.wait_max_us * 1000),
        duration(one.hold_total_us * 1000),
        safe(one.name, LONGEST_CLASS),
    )


def imported_blocks(imported: ImportedLocks | None, most: int) -> Iterator[Block]:
    """The rows of a text of ``perf lock contention``, longest total wait first, and what perf says of itself."""
    if imported is None:
        return
    yield Gap()
    subject = _SUBJECTS[imported.by]
    ranked = sorted(imported.rows, key=lambda row: -(row.wait_total_ns or 0))
    columns = ("waits", "waited", "longest", "mean", "kind", subject)
    yield Table(columns, tuple(map(_waits, ranked[:most])), frozenset(columns[:4]))
    if len(ranked) > most:
        yield Paragraph(f"… {len(ranked) - most:,} more with --top, or --json", 2)
    if not ranked:
        yield Paragraph("It lists no wait.", 2)
    yield from (Paragraph(sentence, 2) for sentence in _remarks(imported))


def _waits(row: ImportedWaits) -> tuple[str, ...]:
    return (
        short(row.waits),
        duration(row.wait_total_ns),
        duration(row.wait_max_ns),
        duration(row.wait_avg_ns),
        row.kind.value if row.kind else safe(row.kind_text, 12) if row.kind_text else NOT_KNOWN,
        _named(row),
    )


def _named(row: ImportedWaits) -> str:
    if row.name is not None:
        return safe(row.name, LONGEST_NAME)
    return f"0x{row.address:x}" if row.address is not None else NOT_KNOWN


def _remarks(imported: ImportedLocks) -> Iterator[str]:
    if imported.bad:
        yield f"perf could not make sense of {imported.bad:,} of {imported.total or 0:,} sequences of events."
    if imported.rounded:
        yield "perf rounded the times to two decimals of their unit."
    yield from (f"perf says: {safe(remark)}" for remark in imported.remarks[:MOST_REMARKS])

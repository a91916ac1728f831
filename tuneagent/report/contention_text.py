"""``tuneagent contention`` for people, in 80 columns: what was waited for, by whom, and which waits are not seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tuneagent.model.contention import Contended, Contention, SpinVisibility
from tuneagent.model.contention_report import ContentionReport
from tuneagent.model.missing import Missing
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table, Tone
from tuneagent.report.lock_tables import imported_blocks, lock_stat_blocks
from tuneagent.report.safe import safe
from tuneagent.report.values import duration, number, plural, short

LONGEST_CALLER = 23
"""As much as is left of 80 columns; below the table it stands in full."""
MOST_CPUS = 8
MOST_FRAMES = 8
NO_LOCK_STAT = "there is no /proc/lock_stat: the kernel is built without CONFIG_LOCK_STAT, as most are"
_COLUMNS = ("#", "waits/s", "waited", "longest", "lock", "wanted by")
_SEEN = {
    SpinVisibility.EVERY: "Each wait for a spinlock is seen here: the kernel has paravirtual spinlocks.",
    SpinVisibility.FROM_THIRD: (
        "Of the waits for a spinlock only those from the third CPU on are seen here: the second one spins on the "
        "lock's pending bit, and the kernel has no event for that. What is shown of spinlocks is the least there is."
    ),
    SpinVisibility.NONE: (
        "No wait for a spinlock is seen here: a virtual machine without paravirtual spinlocks waits in "
        "virt_spin_lock(), which has no event. None shown does not mean none. With paravirtual spinlocks (KVM's "
        "feature pv-unhalt, no nopvspin on the kernel's command line) each would be seen."
    ),
    SpinVisibility.UNKNOWN: "Which waits for spinlocks are seen here is not known: none shown does not mean none.",
}
"""What lock:contention_begin shows; said beside the rows, for none of them may stand for many."""


def document(report: ContentionReport, most: int) -> Document:
    """The places that waited longest, then each in words, then what was not seen; at most ``most`` places."""
    parts = (
        _head(report),
        _contention(report.contention, most),
        lock_stat_blocks(report.lock_stat, most),
        imported_blocks(report.imported, most),
        _not_seen(report),
        _cost(report),
    )
    return tuple(block for part in parts for block in part)


def _head(report: ContentionReport) -> Iterator[Block]:
    yield Heading(f"Waiting for locks: {safe(report.origin)}")
    if report.nothing_seen:
        yield Paragraph("Nothing could be seen: that is not to say that nobody waits.", 0, Tone.WARNING)


def _contention(known: Contention | None, most: int) -> Iterator[Block]:
    if known is None:
        return
    yield Paragraph(_counted(known), 0, Tone.PLAIN, "Counted:")
    yield Paragraph(_recorded(known), 0, Tone.PLAIN, "Recorded:")
    yield Paragraph(_SEEN[known.spin])
    shown = known.rows[:most]
    if shown:
        yield Gap()
        yield _table(shown, known.rows_s)
        if len(known.rows) > len(shown):
            yield Paragraph(f"… {plural(len(known.rows) - len(shown), 'more place')} with --top, or --json", 2)
        yield from _in_words(shown)


def _counted(known: Contention) -> str:
    if known.per_cpu_per_sec is None:
        return f"not known: {safe(known.counted_reason or 'no reason was given')}"
    most = sorted(known.per_cpu_per_sec.items(), key=lambda pair: (-pair[1], pair[0]))
    each = ", ".join(f"CPU {cpu}: {number(per_sec)}" for cpu, per_sec in most[:MOST_CPUS] if per_sec)
    more = ", …" if sum(1 for _, per_sec in most if per_sec) > MOST_CPUS else ""
    return f"{number(known.per_sec)} waits/s{f' ({each}{more})' if each else ''}"


def _recorded(known: Contention) -> str:
    if known.seconds is None:
        return f"not known: {safe(known.recorded_reason or 'no reason was given')}"
    waits = sum(row.waits for row in known.rows)
    time = f"{number(known.seconds)} s"
    if known.watched_s is not None:
        time = f"the {number(known.watched_s)} s that were watched of {time}"
    said = [f"{plural(waits, 'wait')} in {time}"]
    if known.unpaired:
        said.append(f"the end of {known.unpaired:,} not seen")
    if known.lost:
        said.append(f"{plural(known.lost, 'event')} lost")
    if known.throttled:
        said.append(f"held back by the kernel {plural(known.throttled, 'time')}")
    if known.truncated:
        said.append("more came than a record takes")
    return "; ".join(said)


def _table(rows: Iterable[Contended], seconds: float | None) -> Table:
    cells = tuple(_row(place, row, seconds) for place, row in enumerate(rows, 1))
    return Table(_COLUMNS, cells, frozenset({"#", "waits/s", "waited", "longest"}))


def _row(place: int, row: Contended, seconds: float | None) -> tuple[str, ...]:
    timed = row.paired > 0
    return (
        str(place),
        short(row.waits / seconds if seconds else None),
        duration(row.wait_total_ns if timed else None),
        duration(row.wait_max_ns if timed else None),
        safe(row.group.value),
        safe(row.caller, LONGEST_CALLER),
    )


def _in_words(rows: Iterable[Contended]) -> Iterator[Block]:
    for place, row in enumerate(rows, 1):
        yield Gap()
        yield Heading(f"{place}. {_where(row)}")
        yield Paragraph(
            f"{safe(row.subject) if row.subject else 'cannot tell'} ({safe(row.subject_reason)})", 3, label="Of:"
        )
        yield Paragraph(_who(row), 3, label="By:")
        if row.callers:
            more = " < …" if len(row.callers) > MOST_FRAMES else ""
            yield Paragraph(" < ".join(map(safe, row.callers[:MOST_FRAMES])) + more, 3, label="Called by:")


def _where(row: Contended) -> str:
    locks = f", {plural(row.locks, 'lock')}" if row.locks > 1 else ""
    return f"{safe(row.caller, 50)}: {row.kind.value}{locks}"


def _who(row: Contended) -> str:
    total = sum(row.per_cpu.values()) or 1
    cpus = sorted(row.per_cpu.items(), key=lambda pair: (-pair[1], pair[0]))
    said = [f"CPU {cpu}: {100 * count / total:.0f} %" for cpu, count in cpus[:MOST_CPUS]]
    if len(cpus) > MOST_CPUS:
        said.append(f"and {plural(len(cpus) - MOST_CPUS, 'more CPU')}")
    contexts = [
        f"{context.value} {100 * count / row.waits:.0f} %" for context, count in row.contexts.items() if row.waits
    ]
    if row.tasks:
        contexts.append(f"tasks {', '.join(map(safe, row.tasks))}")
    seen = [f"the end of {row.paired:,} of {row.waits:,} waits seen"] if row.paired < row.waits else []
    return "; ".join([", ".join(said), *contexts, *seen])


def _not_seen(report: ContentionReport) -> Iterator[Block]:
    limits = [safe(limit) for limit in report.contention.limits] if report.contention else []
    if report.lacks_lock_stat:
        limits.append(NO_LOCK_STAT)
    if limits or report.missing:
        yield Gap()
        yield Heading("Not seen, and therefore unknown")
        yield from (Paragraph(limit, 2) for limit in limits)
    # No table: what would help is a sentence, and two of three are often the same.
    for (detail, remedy), sources in _by_cause(report.missing).items():
        yield Paragraph(
            f"{safe(detail)}{f'; what would help: {safe(remedy)}' if remedy else ''}", 2, label=f"{sources}:"
        )


def _by_cause(missing: Iterable[Missing]) -> dict[tuple[str, str | None], str]:
    causes: dict[tuple[str, str | None], list[str]] = {}
    for one in missing:
        place = one.source if one.line is None else f"{one.source}:{one.line}"
        causes.setdefault((one.detail, one.remedy), []).append(safe(place))
    return {cause: ", ".join(dict.fromkeys(sources)) for cause, sources in causes.items()}


def _cost(report: ContentionReport) -> Iterator[Block]:
    parts = []
    if report.contention is not None and report.contention.cpu_s:
        parts.append(f"recording cost {number(report.contention.cpu_s * 1000)} ms of CPU")
    if report.cost is not None:
        parts.append(f"the whole report {number(report.cost.cpu_s * 1000)} ms")
        if report.cost.peak_rss_bytes is not None:
            parts.append(f"{number(report.cost.peak_rss_bytes / 1e6)} MB at most")
    if parts:
        said = ", ".join(parts)
        yield Gap()
        yield Paragraph(f"{said[0].upper()}{said[1:]}.", 0, Tone.FAINT)

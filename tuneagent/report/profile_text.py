"""``tuneagent profile`` and ``profile diff`` for people, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Clear, Finding, Judgement, Unjudged
from tuneagent.model.profile import Basis, FoldedProfile, Profile, ProfileDelta, ProfileDiff, SymbolShare
from tuneagent.report.advice_text import LONGEST_PROSE, TONES
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table, Tone
from tuneagent.report.safe import safe
from tuneagent.report.values import number, plural, with_unit

MOST_CPUS = 2
"""Of one symbol, by name; the table has the busiest."""
WIDTH = 80
LONGEST_SYMBOL = 36
SHORTEST_SYMBOL = 20
"""Longer ones are cut in a table, by how much room there is: --json has all of them."""
_BESIDE = 33
"""Columns of a table beside the CPUs and the symbol."""
NO_SAMPLES = "The numbers of samples are not in it: how much of a difference is chance cannot be told."
ERROR = (
    "±: within this sampling alone (binomial) leaves all symbols at once, in 95 of 100 pairs of profiles of the same "
    "load. Samples that follow one another are not independent: take each profile twice before you conclude."
)


def document(folded: FoldedProfile, judgements: Sequence[Judgement] = ()) -> Document:
    """The ranked symbols, what the CPUs did besides, what that means, and what is not seen."""
    parts = (_head(folded), _ranked(folded), _judged(judgements), _end(folded.profile))
    return tuple(block for part in parts for block in part)


def diff_document(
    diff: ProfileDiff, most: int, judgements: Sequence[Judgement] = (), *, every: bool = False
) -> Document:
    """The symbols by their difference; those within noise only with ``every``, or where there is nothing else."""
    parts = (_sides(diff), _deltas(diff, most, every=every), _judged(judgements))
    return tuple(block for part in parts for block in part)


def _head(folded: FoldedProfile) -> Iterator[Block]:
    yield Heading(f"Profile of {safe(folded.profile.origin)}")
    yield Paragraph(_what(folded.profile))
    if folded.kernel_percent is not None:
        yield Paragraph(
            f"Kernel {_percent(folded.kernel_percent)} % and user space {_percent(folded.user_percent)} % of the busy "
            f"time; idle {_percent(folded.idle_percent)} % of all. {plural(folded.samples or 0, 'sample')}."
        )
    elif folded.samples is not None:
        yield Paragraph(f"{plural(folded.samples, 'sample')}, none of them busy: nothing ran.", 0, Tone.INFO)


def _what(profile: Profile) -> str:
    parts = [safe(profile.event)]
    if profile.kernel_release:
        parts.append(f"Linux {safe(profile.kernel_release)}")
    if profile.cpus:
        parts.append(f"CPUs {CpuSet.of(profile.cpus)}")
    if profile.seconds is not None:
        parts.append(f"{number(profile.seconds)} s")
    return ", ".join(parts)


def _ranked(folded: FoldedProfile) -> Iterator[Block]:
    if not folded.rows:
        return
    yield Gap()
    share = "busy %" if folded.basis is Basis.BUSY else "share %"
    columns = (share, "kernel %", "samples", "on CPUs", "symbol")
    widest = max(len(busiest(row.per_cpu)) for row in folded.rows)
    room = max(SHORTEST_SYMBOL, WIDTH - _BESIDE - max(widest, len("on CPUs")))
    rows = tuple(_row(row, room) for row in folded.rows)
    yield Table(columns, rows, frozenset({share, "kernel %", "samples"}))
    if folded.left_out:
        yield Paragraph(f"… {plural(folded.left_out, 'more symbol')} with --top, or --json", 2)


def _row(row: SymbolShare, room: int) -> tuple[str, ...]:
    samples = "?" if row.samples is None else f"{row.samples:,}"
    kernel = "?" if row.kernel_percent is None else _percent(row.kernel_percent)
    return _percent(row.percent), kernel, samples, busiest(row.per_cpu), _name(row.symbol, row.module, room)


def _name(symbol: str, module: str | None, room: int) -> str:
    name = safe(symbol, room)
    # Where both do not fit, the symbol is worth more.
    whole = f"{name} [{safe(module)}]" if module else name
    return whole if len(whole) <= room else name


def busiest(per_cpu: Mapping[int, int]) -> str:
    """``0: 60 %, 1: 40 %``: CPUs by their part, the first few."""
    total = sum(per_cpu.values())
    ranked = sorted(((count, cpu) for cpu, count in per_cpu.items() if count), key=lambda one: (-one[0], one[1]))
    shown = ", ".join(f"{cpu}: {100 * count / total:.0f} %" for count, cpu in ranked[:MOST_CPUS])
    return f"{shown} +{len(ranked) - MOST_CPUS}" if len(ranked) > MOST_CPUS else shown or "?"


def _judged(judgements: Iterable[Judgement]) -> Iterator[Block]:
    for one in judgements:
        yield Gap()
        match one:
            case Finding():
                word = str(one.severity).upper()
                yield Heading(f"{word}: {safe(one.title)} [{safe(one.rule)}]", TONES[one.severity])
                yield Paragraph(safe(one.explanation, LONGEST_PROSE), 2)
                yield Paragraph(f"tuneagent explain {safe(one.rule)}", 2, Tone.PLAIN, "More:")
            case Unjudged():
                yield Paragraph(f"{safe(one.reason)} [{safe(one.rule)}]", 0, Tone.PLAIN, "Not judged:")
            case Clear():
                numbers = ", ".join(f"{safe(it.metric)} {with_unit(it.value, it.unit)}" for it in one.evidence)
                yield Paragraph(f"{safe(one.rule)} ({numbers})", 0, Tone.PLAIN, "Looked for and not found:")


def _end(profile: Profile) -> Iterator[Block]:
    limits = [safe(limit) for limit in profile.limits]
    if profile.lost:
        limits.append(f"{plural(profile.lost, 'sample')} lost: the kernel's buffer was full")
    if profile.throttled:
        limits.append(f"the kernel held sampling back {plural(profile.throttled, 'time')} (throttled)")
    if limits:
        yield Gap()
        yield Heading("Not seen, or not sure")
        yield from (Paragraph(limit, 2) for limit in limits)
    if profile.cpu_s is not None:
        yield Gap()
        yield Paragraph(f"Sampling cost {number(profile.cpu_s * 1000)} ms of CPU.", 0, Tone.FAINT)


def _sides(diff: ProfileDiff) -> Iterator[Block]:
    if diff.old is None or diff.new is None:
        yield Heading("Difference, as perf diff told it")
        return
    yield Heading("Difference of two profiles")
    for label, profile in (("old:", diff.old), ("new:", diff.new)):
        yield Paragraph(f"{safe(profile.origin)} ({_what(profile)})", 2, Tone.PLAIN, label)
    share = "busy time" if diff.basis is Basis.BUSY else "all samples"
    yield Paragraph(f"Shares in percent of {share}, the difference in percentage points.")
    for remark in diff.remarks:
        yield Paragraph(f"Beware: {safe(remark)}.", 0, Tone.WARNING)


def _deltas(diff: ProfileDiff, most: int, *, every: bool) -> Iterator[Block]:
    sure = [one for one in diff.deltas if not one.within_noise]
    if diff.deltas and not sure:
        yield Gap()
        yield Heading("No symbol differs by more than sampling alone would make it.", Tone.GOOD)
    listed = diff.deltas if every or not sure else sure
    if listed:
        yield Gap()
        yield _table(tuple(listed[:most]))
    else:
        yield Paragraph("There is no symbol of the kernel in either.", 0, Tone.INFO)
    yield from _left_out(len(listed) - most, len(diff.deltas) - len(listed))
    yield Gap()
    yield Paragraph(ERROR if any(one.error_percent is not None for one in diff.deltas) else NO_SAMPLES, 0, Tone.FAINT)


def _left_out(more: int, noise: int) -> Iterator[Block]:
    if more > 0:
        yield Paragraph(f"… {plural(more, 'more symbol')} with --top, or --json", 2)
    if noise:
        yield Paragraph(f"… {plural(noise, 'symbol')} within noise left out; --all shows them", 2)


def _table(deltas: tuple[ProfileDelta, ...]) -> Table:
    columns = ("old %", "delta", "new %", "±", "noise", "symbol")
    return Table(columns, tuple(_delta(one) for one in deltas), frozenset({"old %", "delta", "new %", "±"}))


def _delta(one: ProfileDelta) -> tuple[str, ...]:
    noise = {True: "within", False: "beyond", None: "?"}[one.within_noise]
    error = "?" if one.error_percent is None else _percent(one.error_percent)
    return (
        _side(one.old_percent),
        f"{one.delta_percent:+.2f}",
        _side(one.new_percent),
        error,
        noise,
        safe(one.symbol, LONGEST_SYMBOL),
    )


def _side(percent: float | None) -> str:
    return "-" if percent is None else _percent(percent)


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"

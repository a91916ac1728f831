"""/proc/interrupts (kernel/irq/proc.c ``show_interrupts``, each architecture's ``arch_show_interrupts``)."""

from __future__ import annotations

import re

from tuneagent.model.counters import InterruptRow, Interrupts
from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.model.errors import ParseError
from tuneagent.parse.interrupt_source import InterruptSource, pci_address, split_source
from tuneagent.parse.lines import U64_MAX, empty, natural, require_printable, shown

__all__ = ["parse", "pci_address"]

_CPU = re.compile(r"CPU([0-9]{1,5})")
_BROKEN_COUNT = re.compile(r"[+-]?[0-9_]+[^\W\d]?")
_IRQ_DIGITS = 10
_TOTALS = frozenset({"ERR", "Err", "MIS", "BAD"})
"""Rows that the architectures print with one number whatever the number of CPUs."""

_Sources = dict[str, InterruptSource]


def parse(text: str, previous: Interrupts | None = None) -> Interrupts:
    """The table, rows in their order; rows whose text is that of a row of ``previous`` are its very objects.

    A row has exactly one count a CPU of the header, except architecture rows: those may have one total (``ERR``),
    fewer numbers (their sum is the total and no CPU is credited) or text only (``FIQ``).
    ParseError, with the line: no header, a row without label, an interrupt with fewer or more counts than CPUs,
    a last row that is cut off, a count that is no number of 64 bits. EMPTY for a text with nothing in it.
    """
    lines = text.split("\n")
    head = next((index for index, line in enumerate(lines) if line and not line.isspace()), None)
    if head is None:
        raise empty()
    cpus = _header(lines[head], head + 1)
    earlier = previous.rows if previous is not None and previous.cpus == cpus else ()
    unchanged = {row.text: row for row in earlier}
    sources = {row.description: _source_of(row) for row in earlier if row.irq is not None and row.description}
    rows: list[InterruptRow] = []
    for number, line in enumerate(lines[head + 1 :], head + 2):
        if not line or line.isspace():
            continue
        row = unchanged.get(line)
        if row is None:
            row = _row(line, number, len(cpus), sources, last=number == len(lines))
        rows.append(row)
    return Interrupts(cpus, tuple(rows))


def _header(line: str, number: int) -> tuple[int, ...]:
    matches = [_CPU.fullmatch(word) for word in line.split()]
    cpus = tuple(int(match[1]) for match in matches if match)
    if len(cpus) < len(matches):
        raise ParseError(f"not a header of CPUs: {shown(line.strip())}", number)
    if len(set(cpus)) < len(cpus) or max(cpus) >= MAX_CPUS:
        raise ParseError(f"a CPU named twice, or one above {MAX_CPUS - 1}", number)
    return cpus


def _source_of(row: InterruptRow) -> InterruptSource:
    return InterruptSource(row.chip, row.hwirq, row.trigger, row.actions)


def _row(line: str, number: int, width: int, sources: _Sources, *, last: bool) -> InterruptRow:
    # Split at the first colon: ten digits fill their column and stick to the label, and chips contain colons.
    label, colon, rest = line.partition(":")
    label = label.strip()
    if not colon or not label or len(label.split()) > 1:
        raise ParseError(f"a row without label: {shown(line.strip())}", number)
    require_printable(label, number)
    words = rest.split(None, width)
    counts = _counts(words, width)
    if counts is None or (width == 1 and len(words) == 1 and label in _TOTALS):
        return _odd_row(line, label, rest, width, number, last=last)
    description = words[width].rstrip() if len(words) > width else ""
    _check(rest, description, counts, number)
    if last and not description and rest[-1:].isdigit() and _irq(label, number) is not None:
        # Every interrupt has a chip, if only "None", and the file ends in a newline: digits may be missing.
        raise ParseError("cut off at the end", number)
    return _full_row(line, label, counts, description, number, sources)


def _counts(words: list[str], width: int) -> tuple[int, ...] | None:
    """As many counts as there are CPUs, and no look at more words: a chip's name may begin with digits."""
    try:
        counts = tuple(map(int, words[:width]))
    except ValueError:
        return None
    return counts if len(counts) == width else None


def _check(rest: str, description: str, counts: tuple[int, ...], number: int) -> None:
    """Refuses what int() takes and the kernel never prints; on the whole text at once, for there may be 256 counts."""
    numbers = rest[: rest.rindex(description)] if description else rest
    if not numbers.isascii() or "-" in numbers or "_" in numbers or "+" in numbers:
        raise ParseError("a count that is not a number", number)
    if sum(counts) > U64_MAX and max(counts) > U64_MAX:
        raise ParseError("a count of more than 64 bits", number)


def _full_row(
    line: str, label: str, counts: tuple[int, ...], description: str, number: int, sources: _Sources
) -> InterruptRow:
    irq = _irq(label, number)
    source = sources.get(description) if irq is not None else None
    if source is None:
        require_printable(description, number)
        _refuse_more_counts(description, len(counts), number)
        source = split_source(description if irq is not None else "")
        if irq is not None:
            sources[description] = source
    return InterruptRow(label, irq, counts, sum(counts), *source, description or None, line)


def _refuse_more_counts(description: str, width: int, number: int) -> None:
    """A CPU that came while the file was read gives rows one count more than the header has CPUs."""
    first, _, _ = description.partition(" ")
    if first.isascii() and first.isdigit():
        raise ParseError(f"more counts than the {width} CPUs of the header", number)


def _odd_row(line: str, label: str, rest: str, width: int, number: int, *, last: bool) -> InterruptRow:
    """A row without one count a CPU: a total, some numbers, or text only."""
    words = rest.split()
    numbers = next((index for index, word in enumerate(words) if not _is_number(word)), len(words))
    counts = [natural(word, number) for word in words[:numbers]]
    bare = numbers == len(words)
    cut = bare and last and label not in _TOTALS
    if _irq(label, number) is not None or cut or not words:
        raise ParseError(f"{len(counts)} counts for {width} CPUs", number)
    if not bare and _is_broken_count(words, numbers):
        raise ParseError(f"{shown(words[numbers])} is not a count", number)
    description = " ".join(words[numbers:])
    require_printable(description, number)
    return InterruptRow(
        label, None, (), sum(counts) if counts else None, None, None, None, (), description or None, line
    )


def _is_broken_count(words: list[str], index: int) -> bool:
    """Behind or among counts whatever begins as one; a row of text only may begin so: ``3f00b880.fiq``."""
    word = words[index]
    if word[0] not in "+-0123456789":
        return False
    return index > 0 or _BROKEN_COUNT.fullmatch(word) is not None or any(map(_is_number, words))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _irq(label: str, number: int) -> int | None:
    if not _is_number(label):
        return None
    if len(label) > _IRQ_DIGITS:
        raise ParseError(f"{shown(label)} is no interrupt number", number)
    return int(label)

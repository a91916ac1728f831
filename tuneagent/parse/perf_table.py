"""The tables of ``perf report --stdio`` and ``perf diff`` (tools/perf/ui/stdio/hist.c ``hists__fprintf``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import empty, require_printable, shown
from tuneagent.parse.perf_names import (
    MAX_SYMBOL,
    UNKNOWN,
    Place,
    event_name,
    is_profile_event,
    place_of,
    require_bounded,
    symbol_of,
)

MAX_LINES = 2_000_000
MAX_ROWS = 500_000
_MAX_COLUMNS = 64
_MAX_LINE = 8192
_LEVELS = {
    "[k]": Place.KERNEL,
    "[.]": Place.USER,
    "[g]": Place.GUEST,
    "[u]": Place.GUEST,
    "[H]": Place.KERNEL,
}
"""util/symbol_fprintf.c and util/thread.c: one letter for whose code it is."""
_PERCENT = re.compile(r"[+-]?[0-9]{1,4}\.[0-9]{1,4}%?")
_MARK = re.compile(r"\[[k.guH]\] ")
_SAMPLES = re.compile(r"# Samples: +[^ ]{1,20} +of events? '(.{1,200})'")
_EVENTS = re.compile(r"# Events: +[^ ]{1,20} +([^ ]{1,200})")
_DIFFED = re.compile(r"# Event '(.{1,200})'")
_LOST = re.compile(r"# Total Lost Samples: +([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Header:
    """Names of the columns and how rows are cut: at ``starts``, or by ``separator``."""

    names: tuple[str, ...]
    starts: tuple[int, ...]
    """Empty where the columns are separated."""
    separator: str
    """Empty where they are aligned."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row by column name, as printed."""

    cells: dict[str, str]
    number: int


@dataclass(slots=True)
class Table:
    """The rows of one event."""

    event: str | None
    lost: int
    header: Header | None = None
    """None for rows that somebody copied without it."""
    number: int | None = None
    """Line of the header."""
    rows: list[Row] = field(default_factory=list)


def table_of(text: str, percents: tuple[str, str]) -> Table:
    """The first table of cycles or a CPU clock, else the first one; call graphs below rows are left out.

    Rows without a header are read by their letter ``[k]``; their percentages are then named by ``percents``.
    ParseError with the line: a text that has no row, one that is too long; EMPTY for nothing.
    """
    require_bounded(text)
    if not text or text.isspace():
        raise empty()
    tables = [table for table in _tables(text, percents) if table.rows]
    if not tables:
        first = next((number, line) for number, line in _lines(text) if line.strip())
        raise ParseError(f"no table of perf with a row: {shown(first[1].strip())}", first[0])
    return next((table for table in tables if table.event and is_profile_event(table.event)), tables[0])


def _tables(text: str, percents: tuple[str, str]) -> list[Table]:
    tables = [Table(None, 0)]
    rows = 0
    ahead = _lines(text)
    next(ahead)
    for number, line in _lines(text):
        below = next(ahead, None)
        if line.startswith("#"):
            _comment(tables, line, below[1] if below else "", number)
            continue
        row = _row(tables[-1].header, line, number, percents)
        if row:
            tables[-1].rows.append(row)
            rows += 1
        elif below is None and _is_cut(tables[-1], line):
            raise ParseError(f"a row that is cut off at the end: {shown(line.strip())}", number)
        if rows > MAX_ROWS:
            raise ParseError(f"more than {MAX_ROWS} rows", number)
    return tables


def _is_cut(table: Table, line: str) -> bool:
    """Whether the very last line, which no newline ends, is the beginning of a row."""
    return bool(table.rows) and line.startswith(" ") and line.strip()[:1].isdigit() and len(line) < _MAX_LINE


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start, number, end = 0, 0, len(text)
    while start <= end:
        stop = text.find("\n", start)
        stop = end if stop < 0 else stop
        number += 1
        if number > MAX_LINES:
            raise ParseError(f"more than {MAX_LINES} lines", number)
        yield number, text[start:stop].rstrip("\r")
        start = stop + 1


def _comment(tables: list[Table], line: str, below: str, number: int) -> None:
    if len(line) > _MAX_LINE:
        return
    lost = _LOST.match(line)
    event = _SAMPLES.match(line) or _DIFFED.match(line) or _EVENTS.match(line)
    if lost:
        tables.append(Table(None, int(lost[1])))
    elif event:
        require_printable(event[1], number)
        kept = tables[-1].lost if tables[-1].event is None and tables[-1].header is None else 0
        tables.append(Table(event_name(event[1]), kept))
    elif tables[-1].header is None:
        tables[-1].header, tables[-1].number = header_of(line, below), number


def header_of(line: str, below: str) -> Header | None:
    """The header in ``line``, with the row of dots below it, or with a separator; None where it is none.

    The dots give the width of each column: cells may hold blanks, and the header's names do.
    """
    if below.startswith("# .") and set(below[1:]) <= {".", " "} and len(below) <= _MAX_LINE:
        starts = [at for at in range(2, len(below)) if below[at] == "." and below[at - 1] == " "][:_MAX_COLUMNS]
        names = (line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True))
        # The first column is as wide as its dots and the "# " before them.
        return Header(tuple(names), (0, *starts[1:]), "")
    return _separated_header(line[2:])


def _separated_header(line: str) -> Header | None:
    first = next((name for name in ("Overhead", "Children", "Baseline") if line.startswith(name)), None)
    separator = line[len(first) :].lstrip(" ")[:1] if first else ""
    if not separator or separator.isalnum() or separator in "#[]":
        return None
    return Header(tuple(name.strip() for name in line.split(separator)[:_MAX_COLUMNS]), (), separator)


def _row(header: Header | None, line: str, number: int, percents: tuple[str, str]) -> Row | None:
    """The row of that line; None for a line below a row: a branch of its call graph, or nothing."""
    if len(line) > _MAX_LINE or not line or line.isspace():
        return None
    if header is None:
        cells = bare_cells(line, percents)
    else:
        cells = _separated_cells(header, line) if header.separator else _aligned_cells(header, line)
    if not cells or not (_MARK.match(cells.get("Symbol", "")) or any(map(_has_percent, [*cells.values()][:2]))):
        return None
    require_printable(line, number)
    return Row(cells, number)


def _has_percent(cell: str) -> bool:
    return _PERCENT.fullmatch(cell.partition(" ")[0]) is not None


def _separated_cells(header: Header, line: str) -> dict[str, str] | None:
    words = [word.strip() for word in line.split(header.separator, len(header.names) - 1)]
    return dict(zip(header.names, words, strict=True)) if len(words) == len(header.names) else None


def _aligned_cells(header: Header, line: str) -> dict[str, str] | None:
    """Cells by position; a line that crosses a border between two columns is no row, nor is one without symbol."""
    starts = header.starts
    if any(line[start - 2 : start].strip() for start in starts[1:]):
        return None
    cells = (line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True))
    found = dict(zip(header.names, cells, strict=True))
    return found if found.get("Symbol", "?") else None


def bare_cells(line: str, percents: tuple[str, str]) -> dict[str, str] | None:
    """``19.59%  [kernel]  [k] name``: as mails quote it."""
    mark = _MARK.search(line)
    if mark is None:
        return None
    words = line[: mark.start()].split()
    shares = [word for word in words[:2] if _PERCENT.fullmatch(word)]
    if not shares:
        return None
    alone = percents[1] if shares[0][0] in "+-" else percents[0]
    cells = {alone: shares[0]} if len(shares) == 1 else dict(zip(percents, shares, strict=True))
    symbol = line[mark.start() :].strip()
    return {**cells, "Symbol": symbol} | ({"Shared Object": words[-1]} if len(words) > len(shares) else {})


def percent(cell: str, number: int) -> float | None:
    """``12.34%`` or, separated, ``12.34``; of a group of events the first; None for an empty cell."""
    word = cell.partition(" ")[0]
    if not word or word in {"-", "N/A"}:
        return None
    if not _PERCENT.fullmatch(word):
        raise ParseError(f"{shown(word)} is no percentage", number)
    return float(word.removesuffix("%"))


def kernel_symbol(row: Row) -> str | None:
    """The symbol where it is the kernel's, None for others; ``[unknown]`` where no symbol covers the address.

    By perf's letter before it, else by its object; where there is neither, it is taken for the kernel's.
    """
    printed = row.cells.get("Symbol", "")
    level, _, name = printed.partition(" ")
    if level not in _LEVELS:
        level, name = "", printed
    # perf puts the version or the inlining of a symbol behind two blanks.
    name = name.strip().partition("  ")[0]
    if not name or len(name) > MAX_SYMBOL:
        raise ParseError(f"a row without symbol, or with one of more than {MAX_SYMBOL} letters", row.number)
    dso = row.cells.get("Shared Object")
    place = _LEVELS[level] if level else place_of(dso, None) if dso else Place.KERNEL
    return (symbol_of(name) or UNKNOWN) if place is Place.KERNEL else None

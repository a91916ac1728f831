"""``perf diff``: the shares of the kernel's functions in two profiles (tools/perf/builtin-diff.c)."""

from __future__ import annotations

from tuneagent.model.errors import ParseError
from tuneagent.model.profile import ProfileDelta
from tuneagent.parse.perf_table import Table, kernel_symbol, percent, table_of

_BASELINE, _DELTA = "Baseline", "Delta"


def parse(text: str) -> tuple[ProfileDelta, ...]:
    """The kernel's symbols in the order of the text; of several files, the first against the baseline.

    Without a baseline the old share is None: the symbol was not there. Without a delta the new one is.
    ParseError with the line: another text, ratios instead of deltas; EMPTY for nothing.
    """
    table = table_of(text, (_BASELINE, _DELTA))
    baseline, delta = _columns(table)
    found: dict[str, tuple[float | None, float | None]] = {}
    for row in table.rows:
        symbol = kernel_symbol(row)
        if symbol is None:
            continue
        old, grown = (percent(row.cells.get(column, ""), row.number) for column in (baseline, delta))
        new = None if grown is None else max(round((old or 0.0) + grown, 2), 0.0)
        if old is None and new is None:
            continue
        before = found.get(symbol, (None, None))
        found[symbol] = (_sum(before[0], old), _sum(before[1], new))
    return tuple(ProfileDelta(symbol, old, new) for symbol, (old, new) in found.items())


def _sum(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else round(one + other, 2)


def _columns(table: Table) -> tuple[str, str]:
    if table.header is None:
        return _BASELINE, _DELTA
    names = table.header.names
    baseline = next((name for name in names if name.partition("/")[0] == _BASELINE), None)
    delta = next((name for name in names if name.partition("/")[0] in {"Delta", "Delta Abs"}), None)
    if baseline is None or "Symbol" not in names:
        raise ParseError("no table of perf diff: the columns Baseline and Symbol are expected", table.number)
    if delta is None:
        raise ParseError("perf diff without deltas (perf diff -c delta-abs)", table.number)
    return baseline, delta

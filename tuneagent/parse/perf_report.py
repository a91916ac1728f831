"""``perf report --stdio``: the shares of the kernel's functions (tools/perf/builtin-report.c)."""

from __future__ import annotations

from tuneagent.model.errors import ParseError
from tuneagent.model.profile import Profile
from tuneagent.parse.perf_names import is_idle
from tuneagent.parse.perf_table import Table, kernel_symbol, percent, table_of


def parse(text: str) -> Profile:
    """Shares in percent of all samples, by kernel symbol, largest first: ``Self`` where there is ``Children``.

    Rows of one symbol (of several commands or CPUs) are summed. A report counts no samples, so there are none by CPU.
    ParseError with the line: another text, a report without the symbols; EMPTY for nothing.
    """
    table = table_of(text, ("Children", "Self"))
    column = _column(table)
    shares: dict[str, float] = {}
    for row in table.rows:
        symbol = kernel_symbol(row)
        share = percent(row.cells.get(column) or row.cells.get("Children", ""), row.number)
        if symbol is not None and share:
            # With children, whoever only calls has 0.00 % of its own.
            shares[symbol] = shares.get(symbol, 0.0) + share
    return Profile(
        origin="perf report",
        event=table.event or "samples",
        seconds=None,
        cpus=(),
        kernel=(),
        user_samples=0,
        idle_samples=0,
        lost=table.lost,
        throttled=0,
        shares_percent={name: round(share, 2) for name, share in sorted(shares.items(), key=_largest)},
        limits=_limits(shares),
    )


def _limits(shares: dict[str, float]) -> tuple[str, ...]:
    idle = sum(share for symbol, share in shares.items() if is_idle(symbol))
    limits = ["a report has shares only: neither samples nor CPUs, and no count of user space and idleness"]
    if idle:
        limits.append(f"its shares are of all samples, {idle:.2f} % of them idle; a profile taken here is of busy ones")
    return tuple(limits)


def _column(table: Table) -> str:
    if table.header is None:
        return "Self"
    names = table.header.names
    if "Symbol" not in names:
        raise ParseError("the report has no column Symbol (perf report --sort symbol)", table.number)
    column = next((name for name in ("Self", "Overhead") if name in names), None)
    if column is None:
        hint = "a table of perf diff" if "Baseline" in names else "no column Overhead or Self"
        raise ParseError(f"no report: {hint}", table.number)
    return column


def _largest(item: tuple[str, float]) -> tuple[float, str]:
    return -item[1], item[0]

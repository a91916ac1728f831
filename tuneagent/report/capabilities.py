"""What could not be seen, grouped so that a person can read it: one row a cause, not one a file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tuneagent.model.missing import Missing
from tuneagent.report.document import Table
from tuneagent.report.safe import safe

MOST_NAMES = 4
_NUMBER = re.compile(r"\d+")


def missing_rows(missing: Iterable[Missing]) -> tuple[tuple[str, str, str], ...]:
    """(what, why with the place, remedy), causes that differ only in a number together."""
    groups: dict[tuple[str, ...], list[Missing]] = {}
    for one in missing:
        key = (_shape(one.what), _shape(one.source), one.reason, _shape(one.detail), one.remedy or "")
        groups.setdefault(key, []).append(one)
    return tuple(_row(group) for group in groups.values())


def missing_table(rows: tuple[tuple[str, str, str], ...]) -> Table:
    """The rows as a table; the column of remedies only where there is one."""
    if any(remedy for _, _, remedy in rows):
        return Table(("what", "why", "what would help"), rows)
    return Table(("what", "why"), tuple((what, why) for what, why, _ in rows))


def _shape(text: str) -> str:
    return _NUMBER.sub("#", text)


def _row(group: list[Missing]) -> tuple[str, str, str]:
    first = group[0]
    names = [safe(one.what) for one in group[:MOST_NAMES]]
    if len(group) > MOST_NAMES:
        names.append(f"… {len(group)} in all")
    place = safe(first.source) if first.line is None else f"{safe(first.source)}:{first.line}"
    return ", ".join(names), f"{place}: {safe(first.detail)}", safe(first.remedy or "")

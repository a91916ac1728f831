"""Which of perf's texts a file holds, so that nobody has to say it."""

from __future__ import annotations

from enum import StrEnum

from tuneagent.model.errors import ParseError
from tuneagent.parse import perf_lock_contention
from tuneagent.parse.lines import empty, shown
from tuneagent.parse.perf_script_lines import event_line
from tuneagent.parse.perf_table import bare_cells

_HEAD = 64 << 10
_MAX_LINES = 400
_MAX_LINE = 1024
_STARTS = {
    "# Event '": "diff",
    "# Baseline": "diff",
    "# Samples:": "report",
    "# Overhead": "report",
    "# Children": "report",
}


class PerfText(StrEnum):
    """A text that one of the parsers reads."""

    SCRIPT = "script"
    """``perf_script.parse``."""
    REPORT = "report"
    """``perf_report.parse``."""
    DIFF = "diff"
    """``perf_diff.parse``."""
    LOCKS = "lock contention"
    """``perf_lock_contention.parse``."""


def recognise(text: str) -> PerfText:
    """The first line that only one of them can have decides; ParseError where none of the first lines is one."""
    if text.startswith(("PERFILE2", "2ELIFREP")):
        raise ParseError("a file of perf record: its text is wanted (perf script, perf report --stdio)", 1)
    lines = [(number, line) for number, line in enumerate(text[:_HEAD].split("\n"), 1) if line and not line.isspace()]
    if not lines:
        raise empty()
    for _, line in lines[:_MAX_LINES]:
        found = _kind(line[:_MAX_LINE])
        if found:
            return found
    number, line = lines[0]
    raise ParseError(f"no text of perf script, report, diff or lock contention: {shown(line.strip())}", number)


def _kind(line: str) -> PerfText | None:
    start = next((kind for start, kind in _STARTS.items() if line.startswith(start)), None)
    if start:
        return PerfText(start)
    if perf_lock_contention.header_of(0, line.strip()):
        return PerfText.LOCKS
    if line.startswith("#"):
        return None
    if event_line(line):
        return PerfText.SCRIPT
    cells = bare_cells(line, ("share", "delta"))
    if not cells:
        return None
    return PerfText.DIFF if cells.get("delta", "")[:1] in {"+", "-"} else PerfText.REPORT

"""The per-CPU rows of /proc/stat (fs/proc/stat.c, Documentation/filesystems/proc.rst 1.7)."""

from __future__ import annotations

import re

from tuneagent.model.counters import CpuTime, CpuTimes
from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import empty, natural

_ROW = re.compile(r"cpu([0-9]{1,5})\s")
_COLUMNS_MIN = 4
_COLUMNS = 10


def parse(text: str) -> CpuTimes:
    """Ticks by CPU, in the order printed; ids may have holes. A column that the kernel lacks is None.

    ParseError with the line: fewer than four columns, a column that is no number of 64 bits, a CPU that occurs twice
    or from MAX_CPUS up; and for a text without any such row. EMPTY for a text with nothing in it.
    """
    if not text or text.isspace():
        raise empty()
    rows: dict[int, CpuTime] = {}
    for line, content in enumerate(text.split("\n"), 1):
        match = _ROW.match(content)
        if match is None:
            continue
        cpu = natural(match[1], line, MAX_CPUS - 1)
        if cpu in rows:
            raise ParseError(f"cpu{cpu} occurs twice", line)
        rows[cpu] = _row(cpu, content.split()[1:], line)
    if not rows:
        raise ParseError("no row for any CPU")
    return CpuTimes(tuple(rows.values()))


def _row(cpu: int, words: list[str], line: int) -> CpuTime:
    if len(words) < _COLUMNS_MIN:
        raise ParseError(f"{len(words)} columns where the kernel prints at least {_COLUMNS_MIN}", line)
    ticks = [natural(word, line) for word in words[:_COLUMNS]]
    user, nice, system, idle = ticks[:_COLUMNS_MIN]
    later: list[int | None] = [*ticks[_COLUMNS_MIN:], *[None] * (_COLUMNS - len(ticks))]
    return CpuTime(cpu, user, nice, system, idle, *later)

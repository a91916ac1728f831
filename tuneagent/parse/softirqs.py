"""/proc/softirqs (fs/proc/softirqs.c ``show_softirqs``)."""

from __future__ import annotations

import re

from tuneagent.model.counters import Softirqs
from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import U32_MAX, natural, numbered, shown

_CPU = re.compile(r"CPU([0-9]{1,5})")


def parse(text: str) -> Softirqs:
    """Counts by softirq name, one a *possible* CPU in the header's order.

    ParseError with the line: no header, a row without name or with a name that occurs twice, more or fewer counts
    than CPUs, a count that is no number of 32 bits. EMPTY for a text with nothing in it.
    """
    (head, header), *rows = numbered(text)
    cpus = _header(header, head)
    counts: dict[str, tuple[int, ...]] = {}
    for line, content in rows:
        name, colon, rest = content.partition(":")
        name = name.strip()
        if not colon or not name or name in counts:
            raise ParseError(f"a row without a name of its own: {shown(content)}", line)
        words = rest.split()
        if len(words) != len(cpus):
            raise ParseError(f"{len(words)} counts for {len(cpus)} CPUs", line)
        counts[name] = tuple(natural(word, line, U32_MAX) for word in words)
    return Softirqs(cpus, counts)


def _header(header: str, line: int) -> tuple[int, ...]:
    matches = [_CPU.fullmatch(word) for word in header.split()]
    cpus = tuple(int(match[1]) for match in matches if match)
    if len(cpus) < len(matches) or len(set(cpus)) < len(cpus) or max(cpus) >= MAX_CPUS:
        raise ParseError(f"not a header of CPUs: {shown(header)}", line)
    return cpus

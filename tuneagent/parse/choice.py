"""A line of choices with the one in force in brackets: ``always [madvise] never`` (mm/huge_memory.c)."""

from __future__ import annotations

import re

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import shown, single

_CHOSEN = re.compile(r"\[([!-Z^-~]+)\]")


def parse(text: str) -> str:
    """The word in brackets; ParseError where there is none, or more than one."""
    line = single(text)
    found = [match[1] for word in line.split() if (match := _CHOSEN.fullmatch(word))]
    if len(found) != 1:
        raise ParseError(f"{shown(line)} does not say which one is chosen", 1)
    return found[0]

"""What may be written at all: a plan file and a journal may hold anything, and the kernel is handed nothing of that."""

from __future__ import annotations

import re
from functools import lru_cache

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse import cpulist, cpumask
from tuneagent.parse.lines import natural, shown

MOST_CHARACTERS = 1 << 15
"""Of a value; a list of every second one of 8,192 CPUs takes 20,000."""
_CPU_LIST = re.compile(r"[0-9]{1,5}(?:-[0-9]{1,5})?(?:,[0-9]{1,5}(?:-[0-9]{1,5})?)*")
_CPU_MASK = re.compile(r"[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{1,8})*")


@lru_cache(maxsize=256)
def cpu_list(text: str) -> CpuSet:
    """The CPUs of a list as the kernel prints one, ``0-3,8``; ParseError for anything else, and for the empty set."""
    _require(_CPU_LIST, text, "a list of CPUs")
    return cpulist.parse(text)


@lru_cache(maxsize=256)
def cpu_mask(text: str) -> CpuSet:
    """The CPUs of a mask as the kernel prints one, ``1,0000000f``; ParseError for anything else."""
    _require(_CPU_MASK, text, "a mask of CPUs")
    return cpumask.parse(text)


def number(text: str, most: int) -> int:
    """A decimal number of 0 to ``most``; ParseError for anything else."""
    return natural(text, None, most)


def power_of_two(count: int) -> int:
    """The number of entries that a table of the kernel has when ``count`` are asked for; 0 for none."""
    return 1 << (count - 1).bit_length() if count > 0 else 0


def _require(form: re.Pattern[str], text: str, what: str) -> None:
    if len(text) > MOST_CHARACTERS or form.fullmatch(text) is None:
        raise ParseError(f"{shown(text)} is not {what}")

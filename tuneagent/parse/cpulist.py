"""CPU lists: ``0-3,8`` (Documentation/admin-guide/kernel-parameters.rst "cpu lists", lib/bitmap-str.c)."""

from __future__ import annotations

import re

from tuneagent.model.cpuset import MAX_CPUS, CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import natural, require_printable, shown

MAX_LENGTH = 1 << 16
"""Characters; a list of every second one of MAX_CPUS CPUs takes a third of it."""

_REGION = re.compile(r"(?P<first>\w+)(?:-(?P<last>\w+)(?::(?P<used>\w+)/(?P<group>\w+))?)?", re.ASCII)
_ALL = re.compile(r"all(?=:|$)", re.IGNORECASE)


def parse(text: str, last_cpu: int | None = None) -> CpuSet:
    """The set that a list names; an empty text is the empty set.

    Regions ``4``, ``0-3`` and ``0-31:2/8`` (the first 2 of each 8) are parted by commas or blanks, as in
    bitmap_parselist(). Boot options may also say ``N`` for the last CPU and ``all``; these need ``last_cpu``.
    ParseError for anything else, for a CPU from MAX_CPUS up and for a text of more than MAX_LENGTH characters.
    """
    if len(text) > MAX_LENGTH:
        raise ParseError(f"a CPU list of more than {MAX_LENGTH} characters")
    bits = 0
    for region in text.replace(",", " ").split():
        bits |= _region(region, last_cpu)
    return CpuSet(bits)


def _region(region: str, last_cpu: int | None) -> int:
    require_printable(region, None)
    spelt = _ALL.sub("0-N", region, count=1)
    match = _REGION.fullmatch(spelt)
    if match is None:
        raise ParseError(f"{shown(region)} is not a range of CPUs")
    first = _cpu(match["first"], last_cpu)
    last = first if match["last"] is None else _cpu(match["last"], last_cpu)
    if first > last:
        raise ParseError(f"{shown(region)} runs backwards")
    if match["group"] is None:
        return _ones(last - first + 1) << first
    return _strided(first, last, natural(match["used"], None), natural(match["group"], None))


def _cpu(word: str, last_cpu: int | None) -> int:
    if word == "N":
        if last_cpu is None:
            raise ParseError("names the last CPU, which is not known here")
        return last_cpu
    return natural(word, None, MAX_CPUS - 1)


def _strided(first: int, last: int, used: int, group: int) -> int:
    if group == 0 or used > group:
        raise ParseError(f"{used} of each {group} CPUs cannot be")
    length = last - first + 1
    bits, width = _ones(min(used, length)), group
    while width < length:
        bits |= bits << width
        width *= 2
    return (bits & _ones(length)) << first


def _ones(count: int) -> int:
    return (1 << count) - 1

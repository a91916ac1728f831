"""CPU masks: ``ffffffff,00000000`` (lib/bitmap-str.c bitmap_parse, lib/vsprintf.c ``%*pb``)."""

from __future__ import annotations

import re

from tuneagent.model.cpuset import MAX_CPUS, CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import empty, shown

_WORDS = re.compile(r"[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{1,8})*")
_LONG_WORDS = re.compile(r"[0-9a-fA-F]{1,16}(?:,[0-9a-fA-F]{16})*")
_ONE_WORD = re.compile(r"[0-9a-fA-F]+")
_MAX_LENGTH = MAX_CPUS // 2


def parse(text: str) -> CpuSet:
    """The set whose CPU *i* is bit *i*, most significant word first.

    Words have 32 bits (a shorter one is padded at its left, as the kernel does), 64 where all but the first have 16
    digits; without any comma the digits are one number. Leading zeros and ``0x`` change nothing.
    ParseError for anything else, EMPTY for no digits, and for a CPU from MAX_CPUS up.
    """
    mask = text.strip()
    if not mask:
        raise empty()
    if len(mask) > _MAX_LENGTH:
        raise ParseError(f"a CPU mask of more than {_MAX_LENGTH} characters")
    bits = _bits(mask[2:] if mask[:2] in {"0x", "0X"} else mask)
    if bits.bit_length() > MAX_CPUS:
        raise ParseError(f"names a CPU above {MAX_CPUS - 1}")
    return CpuSet(bits)


def _bits(mask: str) -> int:
    if _ONE_WORD.fullmatch(mask):
        return int(mask, 16)
    width = 32 if _WORDS.fullmatch(mask) else 64 if _LONG_WORDS.fullmatch(mask) else None
    if width is None:
        raise ParseError(f"{shown(mask)} is not a CPU mask")
    bits = 0
    for word in mask.split(","):
        bits = bits << width | int(word, 16)
    return bits

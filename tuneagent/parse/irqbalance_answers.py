"""What irqbalance answers over its socket (irqbalance.c ``sock_handle``, ``get_irq_data``, ``get_object_stat``).

``setup``: ``SLEEP 10 IRQ 33 LOAD 0 DIFF 0 CLASS 5 … BANNED 00000000``. The interrupts are those of --banirq or of the
last ``settings ban irqs``; what --banmod or a policy script keeps from it is not told.
``stats``: ``TYPE 3 NUMBER 0 LOAD 7 SAVE_MODE 0 IRQ 34 LOAD 5 DIFF 2 CLASS 5 … TYPE …``: the interrupts that it places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tuneagent.model.errors import ParseError
from tuneagent.parse.json_values import array, mapping
from tuneagent.parse.json_values import natural as natural_value
from tuneagent.parse.lines import U32_MAX, empty, natural, require_printable, shown

MAX_LENGTH = 1 << 20
MAX_SLEEP_S = 2**31 - 1

_IRQ = ("IRQ", "LOAD", "DIFF", "CLASS")
_OBJECT = ("TYPE", "NUMBER", "LOAD", "SAVE_MODE")
_AROUND = ("SLEEP", "10", "BANNED", "00000000")
_MASK = re.compile(r"[0-9a-f,]+")
_NUMBER = re.compile(r"-?[0-9]{1,20}")
"""A node that there is not, and a class that is not known, are -1."""


@dataclass(frozen=True, slots=True)
class IrqbalanceSetup:
    """How a running irqbalance is set now."""

    sleep_s: int
    """Seconds between two looks."""
    banned_irqs: tuple[int, ...]
    """In its own order."""


def setup(text: str) -> IrqbalanceSetup:
    """The answer to ``setup``. ParseError, EMPTY for none, where it is another or ends in the middle."""
    words = _words(text)
    if words[0] != "SLEEP" or len(words) < len(_AROUND) or words[-2] != "BANNED" or not _MASK.fullmatch(words[-1]):
        raise ParseError(f"{shown(text)} is no setup of irqbalance")
    sleep_s = natural(words[1], None, MAX_SLEEP_S)
    groups, rest = words[2:-2], len(_IRQ) * 2
    if len(groups) % rest:
        raise ParseError("an interrupt's row in irqbalance's setup is not whole")
    rows = [groups[at : at + rest] for at in range(0, len(groups), rest)]
    return IrqbalanceSetup(sleep_s, tuple(dict.fromkeys(map(_irq, rows))))


def captured(value: Any) -> tuple[int, frozenset[int]]:
    """The captured source ``irqbalance-bans``, ``{"pid": 612, "banned": [33, 34]}``. ParseError with the JSON path."""
    fields = mapping(value, "$")
    rows = array(fields.get("banned"), "$.banned")
    banned = frozenset(natural_value(irq, f"$.banned[{index}]", U32_MAX) for index, irq in enumerate(rows))
    return natural_value(fields.get("pid"), "$.pid", U32_MAX), banned


def balanced(text: str) -> frozenset[int]:
    """The interrupts in the answer to ``stats``: those that irqbalance places at present."""
    return frozenset(_placed(_words(text)))


def _placed(words: Sequence[str]) -> Iterator[int]:
    rest = len(_IRQ) * 2
    if len(words) % rest:
        raise ParseError("irqbalance's statistics end in the middle of a row")
    if words[0] != "TYPE":
        raise ParseError(f"{shown(words[0])} begins no statistics of irqbalance")
    for at in range(0, len(words), rest):
        row = words[at : at + rest]
        if row[0] == "TYPE":
            _row(row, _OBJECT)
        else:
            yield _irq(row)


def _irq(row: Sequence[str]) -> int:
    return natural(_row(row, _IRQ), None, U32_MAX)


def _row(words: Sequence[str], names: Sequence[str]) -> str:
    """The first value of a row of names and numbers, all of which must be there."""
    if tuple(words[::2]) != tuple(names) or not all(map(_NUMBER.fullmatch, words[1::2])):
        raise ParseError(f"{shown(' '.join(words))} is no row of irqbalance's")
    return words[1]


def _words(text: str) -> list[str]:
    if len(text) > MAX_LENGTH:
        raise ParseError(f"more than {MAX_LENGTH} characters")
    require_printable(text, None)
    words = text.split()
    if not words:
        raise empty()
    return words

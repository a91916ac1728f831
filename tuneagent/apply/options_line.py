"""The bans in one line of irqbalance's environment file, and that line with some more of them and some fewer."""

from __future__ import annotations

import re
from collections.abc import Iterable

_QUOTES = ('"', "'")


def words(line: str, key: str) -> tuple[str, ...]:
    """The options in a plain line (see parse.irqbalance_plain_line); none for an empty line."""
    return tuple(_parts(line, key)[1].split())


def banned(line: str, key: str) -> frozenset[int]:
    """Numbers of the words ``--banirq=N``, the spelling that the agent writes; others were not written by it."""
    spelt = (re.fullmatch(r"--banirq=([0-9]{1,10})", word) for word in words(line, key))
    return frozenset(int(match[1]) for match in spelt if match is not None)


def edited(line: str, key: str, *, without: Iterable[int], more: Iterable[int]) -> str:
    """The line with some bans taken out and some added at its end; a bare value of several words gets quotes."""
    quote, value, tail = _parts(line, key)
    for irq in without:
        value = re.sub(rf"^--banirq={irq}(?: |$)| +--banirq={irq}(?= |$)", "", value)
    added = " ".join(f"--banirq={irq}" for irq in more)
    value = " ".join(filter(None, (value if value.strip() else "", added))).strip() if added else value
    if not quote and (" " in value.strip() or not line):
        quote, tail = '"', ""
    return f"{key}={quote}{value}{quote}{tail}"


def _parts(line: str, key: str) -> tuple[str, str, str]:
    """Quote, value and what stands behind them."""
    text = line.removeprefix(f"{key}=")
    if text[:1] in _QUOTES:
        value, _, tail = text[1:].partition(text[0])
        return text[0], value, tail
    return "", text.rstrip(), text[len(text.rstrip()) :]

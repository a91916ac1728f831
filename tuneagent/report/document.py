"""A report before it is laid out: headings, paragraphs, tables and lines to paste. Writers turn it into text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum


class Tone(StrEnum):
    """What a piece of text is, so that a terminal may colour it; no meaning rests on the colour."""

    PLAIN = "plain"
    GOOD = "good"
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
    FAINT = "faint"


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that starts a part."""

    text: str
    tone: Tone = Tone.PLAIN
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text, wrapped to the width; ``label`` stands before it."""

    text: str
    indent: int = 0
    tone: Tone = Tone.PLAIN
    label: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; columns named in ``right`` are aligned to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = frozenset()
    indent: int = 2


@dataclass(frozen=True, slots=True)
class Lines:
    """Text to paste or to keep as it is: never wrapped."""

    lines: tuple[str, ...]
    indent: int = 6


@dataclass(frozen=True, slots=True)
class Gap:
    """An empty line."""


Block = Heading | Paragraph | Table | Lines | Gap
Document = tuple[Block, ...]


def indented(blocks: Iterable[Block], by: int) -> Iterator[Block]:
    """The blocks so many columns further to the right: a part that belongs to what stands above it."""
    for block in blocks:
        yield block if isinstance(block, Gap) else replace(block, indent=block.indent + by)

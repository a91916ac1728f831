"""A document as plain text: for a pipe, a mail, a ticket, and a terminal without colours."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import zip_longest

from tuneagent.report.document import Block, Document, Gap, Heading, Lines, Paragraph, Table

WIDTH = 100


def write(document: Document, width: int = WIDTH) -> str:
    """The text, ending in a newline. Lines to paste and table rows may be longer than ``width``."""
    return "\n".join(line.rstrip() for block in document for line in lines_of(block, width)) + "\n"


def lines_of(block: Block, width: int) -> Iterator[str]:
    """One block's lines."""
    match block:
        case Gap():
            yield ""
        case Heading(text, _, indent):
            yield " " * indent + text
        case Paragraph(text, indent, _, label):
            yield from _wrapped(text, indent, label, width)
        case Lines(lines, indent):
            yield from (" " * indent + line for line in lines)
        case Table():
            yield from _table(block)


def _wrapped(text: str, indent: int, label: str, width: int) -> list[str]:
    start = " " * indent + (f"{label} " if label else "")
    hang = " " * (len(start) if len(start) <= width // 4 else indent + 2)
    # Paths and addresses must stay whole: break at blanks only.
    return textwrap.wrap(
        text, width, initial_indent=start, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    ) or [start.rstrip()]


def _table(table: Table) -> Iterator[str]:
    rows = [table.columns, *table.rows]
    widths = [max(len(cell) for cell in column) for column in zip_longest(*rows, fillvalue="")]
    for row in rows:
        cells = [
            cell.rjust(width) if name in table.right else cell.ljust(width)
            for name, cell, width in zip(table.columns, row, widths, strict=True)
        ]
        yield " " * table.indent + "  ".join(cells)

"""A document for a terminal, by rich: colour and tables. Loaded only when a person is looking."""

from __future__ import annotations

import io
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from tuneagent.report.document import Block, Document, Gap, Heading, Lines, Paragraph, Table, Tone
from tuneagent.report.plain import lines_of

NARROWEST_REST = 40
"""Characters that the other columns need together; a terminal of 80 leaves as much beside the longest sysfs path."""
_STYLES = {
    Tone.PLAIN: "",
    Tone.GOOD: "green",
    Tone.INFO: "cyan",
    Tone.WARNING: "yellow",
    Tone.CRITICAL: "bold red",
    Tone.FAINT: "dim",
}


def write(document: Document, width: int) -> str:
    """The text with ANSI colours. Every cell is literal: nothing in it is read as markup."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, highlight=False, emoji=False, markup=False)
    for block in document:
        _print(console, block, width)
    return out.getvalue()


def _print(console: Console, block: Block, width: int) -> None:
    match block:
        case Heading(text, tone, indent):
            console.print(Text(" " * indent + text, style=f"bold {_STYLES[tone]}".strip()))
        case Paragraph(_, _, tone, _):
            for line in lines_of(block, width):
                console.print(Text(line, style=_STYLES[tone]), soft_wrap=True)
        case Lines():
            for line in lines_of(block, width):
                console.print(Text(line, style="bold"), soft_wrap=True)
        case Table() if _fits(block, width):
            console.print(Padding(_table(block), (0, 0, 0, block.indent)), soft_wrap=False)
        case Table():
            for line in lines_of(block, width):
                console.print(Text(line), soft_wrap=True)
        case Gap():
            console.print()


def _fits(table: Table, width: int) -> bool:
    """Whether the other columns keep enough room beside the first, whose names and paths must stay whole."""
    first = max(len(row[0]) for row in (table.columns, *table.rows))
    return table.indent + first + NARROWEST_REST <= width


def _table(table: Table) -> RichTable:
    drawn = RichTable(box=None, pad_edge=False, header_style="dim")
    for position, name in enumerate(table.columns):
        justify: Literal["right", "left"] = "right" if name in table.right else "left"
        drawn.add_column(Text(name), justify=justify, overflow="fold", no_wrap=position == 0)
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn

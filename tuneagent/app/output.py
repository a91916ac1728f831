"""Writing a document or JSON to standard output, in colour only where a person looks."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any

import click

from tuneagent.report import plain
from tuneagent.report.document import Document

NARROWEST = 60
WIDEST = 160


def emit(document: Document, color: str) -> None:
    """The document as coloured tables on a terminal, as plain text elsewhere."""
    if _coloured(color):
        from tuneagent.report import terminal

        click.echo(terminal.write(document, _width()), nl=False, color=True)
    else:
        click.echo(plain.write(document, terminal_width() or plain.WIDTH), nl=False)


def emit_json(value: Any) -> None:
    """One JSON value, indented, in UTF-8 with every character beyond ASCII escaped: safe in any log."""
    # Piece by piece: the report on a thousand virtual machines takes 20 MB, and in one text with its pieces 130.
    for piece in json.JSONEncoder(indent=2, ensure_ascii=True, allow_nan=False).iterencode(value):
        sys.stdout.write(piece)
    sys.stdout.write("\n")


def discard() -> None:
    """Sends to nobody what is still to be written: Python would complain again when it closes standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def terminal_width() -> int | None:
    """Columns of the terminal that a person reads on; None for a pipe or a file."""
    return _width() if sys.stdout.isatty() else None


def _width() -> int:
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((plain.WIDTH, 24)).columns))


def _coloured(color: str) -> bool:
    if color == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return color == "always"


def wait_quietly_or_visibly(seconds: float, what: str = "looking at interrupts") -> None:
    """Sleep, with a progress bar on standard error where that is a terminal."""
    import time

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        time.sleep(seconds)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=seconds)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            progress.update(task, completed=seconds - left)
            time.sleep(min(0.1, left))

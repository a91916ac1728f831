"""Pages for a terminal: Markdown whose paragraphs and lists are wrapped to its width, and the list of all pages."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

NAME_WIDTH = 30
_FENCE = "```"
_AS_IT_IS = ("#", "|")
"""How headings and rows of tables begin."""


def reflowed(page: str, width: int) -> str:
    """The page with each paragraph and list item wrapped to ``width``; headings, tables and commands stay whole."""
    return "\n".join(line for part in _parts(page) for line in _laid(part, width)) + "\n"


def listed(rows: Iterable[tuple[str, str]], width: int | None) -> str:
    """A name and a sentence a row; wrapped beside the names where there is a width."""
    return "\n".join(line for name, text in rows for line in _row(name, text, width))


def _row(name: str, text: str, width: int | None) -> list[str]:
    start = f"{name:{NAME_WIDTH}} "
    if width is None:
        return [start + text]
    return _wrapped(text, width, start, " " * len(start))


def _parts(page: str) -> Iterator[list[str]]:
    """Lines that belong together: a paragraph, a list item, a block of commands with its fences, or one line."""
    part: list[str] = []
    fenced = False
    for line in page.splitlines():
        fence = line.startswith(_FENCE)
        if part and not fenced and (fence or not line or line.startswith(("- ", *_AS_IT_IS)) or _whole(part)):
            yield part
            part = []
        part.append(line)
        fenced ^= fence
    if part:
        yield part


def _whole(part: list[str]) -> bool:
    return not part[0] or part[0].startswith((_FENCE, *_AS_IT_IS))


def _laid(part: list[str], width: int) -> list[str]:
    if _whole(part):
        return part
    return _wrapped(" ".join(line.strip() for line in part), width, "", "  " if part[0].startswith("- ") else "")


def _wrapped(text: str, width: int, start: str, hang: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=start, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )

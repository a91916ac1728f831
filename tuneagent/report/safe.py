"""Text that came from a machine, a guest or a file, made harmless for a terminal, a log or a page."""

from __future__ import annotations

import unicodedata

LONGEST = 400
"""Characters of one value; anything longer is cut with a mark. No name or value of the kernel's is that long."""
_HARMFUL = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Control, format (bidirectional marks among them), surrogate, private, unassigned, line and paragraph separators."""


def safe(text: str, longest: int = LONGEST) -> str:
    """The text with every character that could steer a terminal or reorder a line written as an escape."""
    if text.isascii() and text.isprintable():
        return text if len(text) <= longest else text[: longest - 1] + "…"
    shown = "".join(_shown(character) for character in text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _HARMFUL:
        return character
    return character.encode("unicode_escape").decode("ascii")

"""What all texts of the kernel have in common: lines, and nothing in them that cannot be printed."""

from __future__ import annotations

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason

U32_MAX = 2**32 - 1
U64_MAX = 2**64 - 1
_U64_DIGITS = 20


def numbered(text: str) -> list[tuple[int, str]]:
    """Each line that is not blank, without its blanks at both ends, with its number from 1.

    ParseError for a text without any (EMPTY) and for a character that no kernel prints (with its line).
    """
    found = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line and not line.isspace()]
    if not found:
        raise empty()
    for number, line in found:
        require_printable(line, number)
    return found


def empty() -> ParseError:
    """The error of a text that holds nothing."""
    return ParseError("nothing in it", reason=Reason.EMPTY)


def require_printable(line: str, number: int | None) -> None:
    """ParseError for control characters and for bytes that were not UTF-8 (which arrive escaped). Tabs are blanks."""
    if not (line.isprintable() or line.replace("\t", " ").isprintable()):
        odd = next(char for char in line if not char.isprintable() and char != "\t")
        raise ParseError(f"holds the unprintable character {odd!a}", number)


def single(text: str) -> str:
    """The only line of a text; ParseError where it has none or several."""
    found = numbered(text)
    if len(found) > 1:
        raise ParseError("more than one line", found[1][0])
    return found[0][1]


def natural(word: str, line: int | None, highest: int = U64_MAX) -> int:
    """A decimal number of 0 to ``highest``, in the digits 0 to 9 only; ParseError otherwise."""
    if not (word.isascii() and word.isdigit() and len(word) <= _U64_DIGITS):
        raise ParseError(f"{shown(word)} is not a number", line)
    number = int(word)
    if number > highest:
        raise ParseError(f"{number} is above {highest}", line)
    return number


def shown(word: str, limit: int = 40) -> str:
    """A word from outside, quoted, escaped and cut for a message."""
    return ascii(word if len(word) <= limit else word[:limit] + "…")

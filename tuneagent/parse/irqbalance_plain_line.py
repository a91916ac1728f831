"""Whether a variable of an environment file stands on one line that an editor of single lines can change."""

from __future__ import annotations

import re

_WORDS = r"[A-Za-z0-9_./=,:+@%-]*(?: +[A-Za-z0-9_./=,:+@%-]+)*"
_PADDED = rf" *{_WORDS} *"
_PLAIN = re.compile(rf"""(?:"{_PADDED}"|'{_PADDED}'|{_WORDS})[ \t]*""")
"""Words that mean the same to a shell, to systemd's EnvironmentFile= and to sed."""


def plain_line(text: str, key: str | None) -> tuple[str | None, str | None]:
    """(the one line that sets ``key``, why there is none that can be edited): at most one of them is not None.

    With ``key`` None the question is whether a line can be added at the end, and the first is always None.
    """
    lines = text.split("\n")
    if key is None:
        return None, _unfinished(lines)
    sets = re.compile(rf"\s*(?:export\s+)?{re.escape(key)}=")
    found = [number for number, line in enumerate(lines) if sets.match(line)]
    if len(found) != 1:
        where = ", ".join(str(number + 1) for number in found[:6])
        return None, f"{key} is set on lines {where}" if found else f"no line begins with {key}="
    line = lines[found[0]]
    obstacle = _obstacle(lines, found[0], key)
    return (line, None) if obstacle is None else (None, f"line {found[0] + 1}: {obstacle}")


def _obstacle(lines: list[str], number: int, key: str) -> str | None:
    line = lines[number]
    if number and lines[number - 1].rstrip().endswith("\\"):
        return "it goes on from the line before"
    if line.endswith("\r"):
        return "it ends in a carriage return"
    if line.rstrip().endswith("\\"):
        return "it goes on in the next line"
    if not line.startswith(f"{key}="):
        return f"something stands before {key}"
    value = line.removeprefix(f"{key}=")
    return None if _PLAIN.fullmatch(value) else "it is not plain words within one pair of quotes"


def _unfinished(lines: list[str]) -> str | None:
    """Why a line added behind the last would be no line of its own."""
    if lines[-1]:
        return "its last line has no end"
    if len(lines) > 1 and lines[-2].rstrip().endswith("\\"):
        return "its last line goes on in the next"
    if len(lines) > 1 and lines[-2].endswith("\r"):
        return "its lines end in a carriage return"
    return None

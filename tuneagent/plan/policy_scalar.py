"""YAML's plain scalars by our own rules: what two readers could take for two things is refused, with how to write it.

PyYAML follows YAML 1.1, in which ``on`` is true, ``010`` is eight and ``1:30`` is ninety; YAML 1.2 reads all three
differently. A policy file says each value in the one way on which both agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DIGITS_MAX = 15
"""More digits than these are not exact in a JSON number, and no kernel tunable of ours needs them."""
_TRAP_MAX = 40

_LIKE_A_NUMBER = re.compile(r"[-+0-9][0-9A-Fa-fx_.:]*")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
_TRAPS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), found, expected)
    for pattern, found, expected in (
        (r"on|off|yes|no|y|n", "a word that YAML 1.1 takes for true or false", "write true or false, or quote it"),
        (r"true|false", "true or false with capitals", "write true or false in small letters, or quote it"),
        (r"null", "null with capitals", "leave the key out, or quote it"),
        (r"[-+]?0[0-9_]+|[-+]?0o[0-7_]*", "an octal-looking number", "write it in decimal, or quote it"),
        (r"[-+]?0x[0-9a-f_,]*", "a hexadecimal number or mask", "write it in decimal, or quote it"),
        (r"[-+]?0b[01_]*", "a binary number", "write it in decimal, or quote it"),
        (r"[-+]?[0-9][0-9_]*(?::[0-9]{1,2})+(?:\.[0-9_]*)?", "a base-60 number or a time", "quote it"),
        (r"(?=.*_)[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?", "a number with underscores", "write the digits alone"),
        (r"[-+]?\.(?:inf|nan)", "a number that is none", "write a finite number"),
        (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t ].*)?", "a date", "quote it"),
        (r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)e[-+]?[0-9]+", "a number with an exponent", "write it in decimal"),
        (r"[-+]?\.[0-9][0-9_]*|[-+]?[0-9]+\.", "a number with nothing on one side of its point", "write both sides"),
        (r"[-+]?[0-9]+(?:\.[0-9]+)?", "a number with a plus sign or a leading zero", "write the digits alone"),
        (r"=", "YAML 1.1's value mark", "quote it"),
    )
)


@dataclass(frozen=True, slots=True)
class Trap:
    """A plain scalar that is refused."""

    found: str
    expected: str


def resolve(text: str) -> str | int | float | bool | Trap | None:
    """The value of an unquoted scalar, or why it is refused."""
    if text in {"", "~", "null"}:
        return None
    if text in {"true", "false"}:
        return text == "true"
    if _WHOLE.fullmatch(text) or _DECIMAL.fullmatch(text):
        return _number(text)
    if len(text) > _TRAP_MAX:  # no number that anybody writes; the patterns are for short texts only
        return Trap("a number with too many digits", "quote it") if _LIKE_A_NUMBER.fullmatch(text) else text
    for pattern, found, expected in _TRAPS:
        if pattern.fullmatch(text):
            return Trap(found, expected)
    return text


def _number(text: str) -> int | float | Trap:
    if sum(character.isdigit() for character in text) > _DIGITS_MAX:
        return Trap("a number with too many digits", f"write at most {_DIGITS_MAX} digits")
    return float(text) if "." in text else int(text)

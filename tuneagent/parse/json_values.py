"""Strict looks at JSON values: each says its path, ``$.eth0.channels.combined``, where it is not what it must be."""

from __future__ import annotations

from typing import Any

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import U64_MAX, require_printable, shown

MAX_ENTRIES = 65_536
MAX_STRING = 4096


def mapping(value: Any, where: str, limit: int = MAX_ENTRIES) -> dict[str, Any]:
    """A JSON object of at most ``limit`` members whose keys can be printed."""
    if not isinstance(value, dict):
        raise _wrong(value, where, "an object")
    if len(value) > limit:
        raise ParseError(f"{where}: more than {limit} members")
    for key in value:
        string(key, f"{where}: the key")
    return value


def record(value: Any, where: str, limit: int = MAX_ENTRIES) -> dict[str, Any]:
    """A JSON object of which known members are asked for by name: the keys are not looked at, of thousands of them."""
    return value if isinstance(value, dict) and len(value) <= limit else mapping(value, where, limit)


def array(value: Any, where: str, limit: int = MAX_ENTRIES) -> list[Any]:
    """A JSON array of at most ``limit`` elements."""
    if not isinstance(value, list):
        raise _wrong(value, where, "an array")
    if len(value) > limit:
        raise ParseError(f"{where}: more than {limit} elements")
    return value


def string(value: Any, where: str) -> str:
    """A printable string of 1 to MAX_STRING characters."""
    if not isinstance(value, str):
        raise _wrong(value, where, "a string")
    if not 0 < len(value) <= MAX_STRING:
        raise ParseError(f"{where}: a string of {len(value)} characters, not of 1 to {MAX_STRING}")
    try:
        require_printable(value, None)
    except ParseError as error:
        raise ParseError(f"{where}: {error.detail}") from error
    return value


def natural(value: Any, where: str, highest: int = U64_MAX) -> int:
    """A whole number of 0 to ``highest``; true and 1.0 are none."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(value, where, "a whole number")
    if not 0 <= value <= highest:
        raise ParseError(f"{where}: not within 0 to {highest}")
    return value


def boolean(value: Any, where: str) -> bool:
    """True or false; 0 and 1 are none."""
    if not isinstance(value, bool):
        raise _wrong(value, where, "true or false")
    return value


def optional_string(fields: dict[str, Any], key: str, where: str) -> str | None:
    """The member's string; None where it is null or not there."""
    value = fields.get(key)
    return None if value is None else string(value, f"{where}.{key}")


def optional_natural(fields: dict[str, Any], key: str, where: str, highest: int = U64_MAX) -> int | None:
    """The member's number; None where it is null or not there."""
    value = fields.get(key)
    return None if value is None else natural(value, f"{where}.{key}", highest)


def member(where: str, key: str) -> str:
    """Path of a member whose key came from outside."""
    return f"{where}.{key}" if key.isidentifier() and key.isascii() else f"{where}[{shown(key)}]"


def _wrong(value: Any, where: str, wanted: str) -> ParseError:
    names = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return ParseError(f"{where}: {names.get(type(value), 'a number')}, not {wanted}")

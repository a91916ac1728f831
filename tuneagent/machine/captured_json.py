"""JSON that others wrote: bounded in size and depth, and an error for everything that JSON is not."""

from __future__ import annotations

import json
from typing import Any, NoReturn

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 32
MAX_COUNT = 2**64 - 1


class CapturedJsonError(ValueError):
    """A captured document is not what it must be. Says where: ``$.files["/proc/stat"].text``."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


def decode(text: str) -> Any:
    """The value of a document; CapturedJsonError when it is no JSON, too large, or too deep."""
    if len(text) > MAX_BYTES:
        raise CapturedJsonError("$", f"larger than {MAX_BYTES} bytes")
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise CapturedJsonError("$", f"nested deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        raise CapturedJsonError("$", f"not JSON: {fault(error)}") from None
    check_depth(value, "$")
    return value


def fault(error: ValueError) -> str:
    """What json.loads() complains of; of a long number Python tells only how to raise its own limit."""
    said = str(error)
    return "a number of thousands of digits" if "set_int_max_str_digits" in said else said


def check_depth(value: Any, path: str) -> None:
    """CapturedJsonError where containers are nested deeper than MAX_DEPTH."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise CapturedJsonError(path, f"nested deeper than {MAX_DEPTH}")


def _inside(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in inner if isinstance(item, dict | list)]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def mapping(value: Any, path: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise CapturedJsonError(path, f"an object is expected, not {_kind(value)}")
    for key in value:
        text(key, f"{path} (a key)")
    return value


def text(value: Any, path: str) -> str:
    """A JSON string that can be encoded: JSON may hold half a surrogate pair."""
    if not isinstance(value, str):
        raise CapturedJsonError(path, f"a string is expected, not {_kind(value)}")
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise CapturedJsonError(path, "half of a surrogate pair")
    return value


def count(value: Any, path: str) -> int:
    """An integer from 0 to 2**64-1."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_COUNT:
        raise CapturedJsonError(path, f"an integer from 0 to 2**64-1 is expected, not {_kind(value)}")
    return value


def inside(path: str, key: str) -> str:
    """The place of a key: ``$.files["/proc/stat"]``."""
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{json.dumps(key)}]"


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    shown = repr(value) if not isinstance(value, int) or abs(value) <= MAX_COUNT else "an integer"
    return f"{shown:.40}"

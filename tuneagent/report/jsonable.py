"""The nouns as JSON values: the keys are the fields' names, so that what a program reads is what the model says."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Any

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity

_PLAIN = frozenset({str, int, bool, type(None)})
"""What most values are, and JSON's already. Enums are of classes of their own."""
_DIGITS = 6
"""Decimal digits kept of a rate; more would be noise."""


def jsonable(value: Any) -> Any:
    """Dataclasses → objects, CPU sets → the kernel's list form, enums → their words, sets → sorted arrays."""
    noun = value.__class__
    if noun in _PLAIN:
        return value
    names = _fields(noun)
    if names is not None:
        return {name: jsonable(getattr(value, name)) for name in names}
    match value:
        case Mapping():
            return {str(key): jsonable(entry) for key, entry in value.items()}
        case frozenset() | set():
            return sorted(jsonable(entry) for entry in value)
        case list() | tuple():
            return [jsonable(entry) for entry in value]
    return _scalar(value)


@functools.cache
def _fields(noun: type) -> tuple[str, ...] | None:
    """The names of a dataclass's fields; None for what has a form of its own. Kept, for reports have 100,000 values."""
    if not dataclasses.is_dataclass(noun) or noun is CpuSet or issubclass(noun, Mapping):
        return None
    return tuple(field.name for field in dataclasses.fields(noun))


def _scalar(value: Any) -> str | int | float | None:
    match value:
        case CpuSet() | Severity() | StrEnum():
            return str(value)
        case IntEnum():
            return int(value)
        case float():
            return round(value, _DIGITS)
        case int() | str():
            return value
    raise TypeError(f"no JSON form for {type(value).__name__}")

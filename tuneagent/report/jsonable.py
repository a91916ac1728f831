"""The nouns as JSON values: the keys are the fields' names, so that what a program reads is what the model says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Any

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity

_DIGITS = 6
"""Decimal digits kept of a rate; more would be noise."""


def jsonable(value: Any) -> Any:
    """Dataclasses → objects, CPU sets → the kernel's list form, enums → their words, sets → sorted arrays."""
    match value:
        case Mapping():
            return {str(key): jsonable(entry) for key, entry in value.items()}
        case frozenset() | set():
            return sorted(jsonable(entry) for entry in value)
        case list() | tuple():
            return [jsonable(entry) for entry in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, CpuSet | type):
            return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _scalar(value)


def _scalar(value: Any) -> str | int | float | None:
    match value:
        case CpuSet() | Severity() | StrEnum():
            return str(value)
        case IntEnum():
            return int(value)
        case float():
            return round(value, _DIGITS)
        case None | int() | str():
            return value
    raise TypeError(f"no JSON form for {type(value).__name__}")

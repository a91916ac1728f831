"""The captured source ``units``: properties of org.freedesktop.systemd1.Unit by unit name.

``{"irqbalance.service": {"ActiveState": "active", "SubState": "running", "LoadState": "loaded"}}``
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tuneagent.parse.json_values import mapping, member, optional_string


@dataclass(frozen=True, slots=True)
class UnitState:
    """systemd's words for a unit; None where the property was not captured."""

    active: str | None
    """ActiveState: ``active``, ``inactive``, ``failed``…"""
    sub: str | None
    """SubState: ``running``, ``dead``…"""
    load: str | None
    """LoadState: ``loaded``, ``not-found``, ``masked``…"""


def parse(value: Any) -> dict[str, UnitState]:
    """States by unit name. ParseError with the JSON path of the first value that is not as described."""
    return {name: _state(unit, member("$", name)) for name, unit in mapping(value, "$").items()}


def _state(value: Any, where: str) -> UnitState:
    fields = mapping(value, where)
    return UnitState(
        active=optional_string(fields, "ActiveState", where),
        sub=optional_string(fields, "SubState", where),
        load=optional_string(fields, "LoadState", where),
    )

"""The captured source ``clock``: ``{"monotonic_ns": 5, "boottime_ns": 6, "realtime_ns": 7}`` (clock_gettime(2))."""

from __future__ import annotations

from typing import Any

from tuneagent.model.clock import Clock
from tuneagent.parse.json_values import mapping, natural


def parse(value: Any) -> Clock:
    """The three clocks; ParseError with the JSON path of a value that is not a number of nanoseconds."""
    fields = mapping(value, "$")

    def nanoseconds(key: str) -> int:
        return natural(fields.get(key), f"$.{key}")

    return Clock(nanoseconds("monotonic_ns"), nanoseconds("boottime_ns"), nanoseconds("realtime_ns"))

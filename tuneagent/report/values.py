"""Numbers and sets as people read them, each with its unit; an unknown is a word, never 0."""

from __future__ import annotations

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.figure import figure
from tuneagent.report.safe import safe

UNKNOWN = "unknown"
CPU_LIST = "CPU list"


def number(value: float | None) -> str:
    """A number as everywhere in a report; unknown is a word."""
    return UNKNOWN if value is None else figure(value)


def with_unit(value: float | str | None, unit: str) -> str:
    """A value and its unit, as in ``12,000/s``, ``97 %``, ``0-3``."""
    if value is None:
        return UNKNOWN
    if unit == CPU_LIST:  # the metric's name says that they are CPUs
        return safe(str(value)) or "none"
    text = safe(value) if isinstance(value, str) else number(value)
    if not unit:
        return text
    if unit == "CPU":
        return f"CPU {text}"
    if unit.startswith("1/"):
        return f"{text}{safe(unit[1:])}"
    return f"{text} {safe(unit.removesuffix('s') if text == '1' else unit)}"


def cpus(value: CpuSet | None) -> str:
    """A CPU list; the empty set is a word."""
    if value is None:
        return UNKNOWN
    return str(value) or "none"

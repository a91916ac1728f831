"""Numbers and sets as people read them, each with its unit; an unknown is a word, never 0."""

from __future__ import annotations

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.figure import figure
from tuneagent.report.safe import safe

UNKNOWN = "unknown"
NOT_KNOWN = "?"
"""The same in a column that is too narrow for the word."""
CPU_LIST = "CPU list"
_SIZES = ((999_500_000.0, 1e9, "G"), (999_500.0, 1e6, "M"), (999.5, 1e3, "k"))
"""From this value on, in this unit: what would be rounded to 1,000 of the smaller one takes the larger."""
_TIMES = ((999_500_000.0, 1e9, "s"), (999_500.0, 1e6, "ms"), (999.5, 1e3, "µs"))
_HUGE = 1e12
_NO_DECIMALS = 99.95
_ONE_DECIMAL = 9.995
_LEAST = 0.01


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


def short(value: float | None) -> str:
    """A number that is not negative in at most five characters: ``0.05``, ``4.2``, ``970``, ``12.3k``, ``1.2M``."""
    if value is None:
        return NOT_KNOWN
    if 0 < value < _LEAST:
        return f"<{_LEAST}"
    if value >= _HUGE:
        return f"{value:.0e}"
    size, unit = next(((value / size, unit) for least, size, unit in _SIZES if value >= least), (value, ""))
    if size >= _NO_DECIMALS:
        return f"{size:.0f}{unit}"
    text = f"{size:.1f}" if unit or size >= _ONE_DECIMAL else f"{size:.2f}"
    return text.rstrip("0").rstrip(".") + unit


def duration(ns: float | None) -> str:
    """``850 ns``, ``12.4 µs``, ``1.03 ms``, ``4 s``."""
    if ns is None:
        return NOT_KNOWN
    value, unit = next(((ns / size, unit) for least, size, unit in _TIMES if ns >= least), (ns, "ns"))
    return f"{figure(round(value, 2))} {unit}"


def plural(count: int, noun: str) -> str:
    """``1 vCPU``, ``2,000 vCPUs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

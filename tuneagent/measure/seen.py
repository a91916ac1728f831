"""What one measured side showed over the measured seconds: each figure, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tuneagent.model.view import View

Figure = float | str
"""A number, or the reason why there is none."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The side that a trial is about: a machine by its own view, or a virtual machine by its hypervisor's."""

    seconds: float | None
    """The interval of those figures that are divided by the load's: of this machine, never of a guest beside it."""
    packets_per_sec: Figure
    exits_per_sec: Figure
    interrupts_per_sec: Figure
    interrupts_per_packet: Figure
    busy_cpus: Figure
    """CPU seconds a second, without steal."""
    nic_cpu_percent: Figure
    vhost_cpu_percent: Figure
    lock_waits_per_sec: Figure
    drops: Figure
    retransmits: Figure
    softnet_squeezes_per_sec: Figure
    steal_percent: Figure
    run_queue_wait_percent: Figure
    bits_per_sec: Figure
    segments_per_sec: Figure
    queue_interrupts: dict[str, dict[str, float]] = field(default_factory=dict)
    """Interrupts/s by queue and CPU."""
    exits_by_kind: dict[str, float] = field(default_factory=dict)


def nothing(why: str) -> Seen:
    """A side of which nothing is known."""
    return Seen(None, *(why,) * 15)


def known(value: float | None, why: str) -> Figure:
    """The number where there is a finite one."""
    return value if value is not None and math.isfinite(value) else why


def total(parts: Iterable[Figure], none: str) -> Figure:
    """The sum; the first reason where a part is unknown, and ``none`` where there is no part."""
    every = list(parts)
    first = next((part for part in every if isinstance(part, str)), None)
    if first is not None or not every:
        return none if first is None else first
    return math.fsum(part for part in every if not isinstance(part, str))


def over(numerator: Figure, denominator: Figure, zero: str) -> Figure:
    """The ratio; ``zero`` is the reason where there is nothing to divide by."""
    if isinstance(numerator, str):
        return numerator
    if isinstance(denominator, str):
        return denominator
    return known(numerator / denominator if denominator > 0 else math.inf, zero)


def times(figure: Figure, factor: float) -> Figure:
    """A number in another unit."""
    return figure if isinstance(figure, str) else figure * factor


def largest(parts: Iterable[Figure], none: str) -> Figure:
    """The largest; the first reason where one is unknown."""
    every = list(parts)
    first = next((part for part in every if isinstance(part, str)), None)
    if first is not None or not every:
        return none if first is None else first
    return max(part for part in every if not isinstance(part, str))


def counted(per_sec: Figure, seconds: float | None) -> Figure:
    """How many there were: whole ones."""
    if isinstance(per_sec, str):
        return per_sec
    return "the interval is not known" if seconds is None else float(round(per_sec * seconds))


def why(view: View, starts: str | Iterable[str], otherwise: str) -> str:
    """What the samples themselves say of a part that is unknown, by the beginning of its path."""
    wanted = (starts,) if isinstance(starts, str) else tuple(starts)
    found = next((gap for gap in view.missing if _within(gap.what, wanted)), None)
    return otherwise if found is None else f"{found.what}: {found.detail}"


def _within(what: str, wanted: Iterable[str]) -> bool:
    return any(what == start or what.startswith(f"{start}.") for start in wanted)


def parted(figures: Mapping[str, Figure]) -> tuple[dict[str, float], dict[str, str]]:
    """(the numbers, the reasons of the others)."""
    values = {name: figure for name, figure in figures.items() if not isinstance(figure, str)}
    return values, {name: figure for name, figure in figures.items() if isinstance(figure, str)}

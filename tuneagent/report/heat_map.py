"""Interrupts of each queue on each CPU as a table whose cells are shaded by their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuneagent.model.trial import Arm
from tuneagent.report.safe import safe
from tuneagent.report.trial_figures import Both, Figures, natural_order
from tuneagent.report.trial_words import A_IS, B_IS
from tuneagent.report.values import number

MOST_CPUS = 32
MOST_QUEUES = 64
SHADES = 5
LONGEST_NAME = 40
_NONE = Both(None, None)


@dataclass(frozen=True, slots=True)
class Cell:
    """A number, and its shade from 0, nothing, to SHADES."""

    text: str
    shade: int


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A queue."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One arm. Both have the same rows, columns and shades, so that they can be compared."""

    caption: str
    cpus: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    more: str


def heat_maps(told: Figures) -> list[HeatMap]:
    """Before and after; none where no interrupts were counted."""
    if not told.queues:
        return []
    cpus, queues = _busiest(told), told.queues[:MOST_QUEUES]
    most = max((value for both in told.interrupts.values() for value in (both.a, both.b) if value), default=0.0)
    left_out = [
        f"{count:,} {what}"
        for count, what in (
            (len(told.cpus) - len(cpus), "CPUs with fewer interrupts"),
            (len(told.queues) - len(queues), "queues"),
        )
        if count > 0
    ]
    more = f"Not shown: {' and '.join(left_out)}; --json has them." if left_out else ""
    names = tuple(safe(cpu, LONGEST_NAME) for cpu in cpus)
    return [
        HeatMap(caption, names, tuple(_row(told, queue, cpus, arm, most) for queue in queues), more)
        for arm, caption in ((Arm.A, A_IS), (Arm.B, B_IS))
    ]


def _row(told: Figures, queue: str, cpus: Sequence[str], arm: Arm, most: float) -> HeatRow:
    rates = [told.interrupts.get((queue, cpu), _NONE).of(arm) for cpu in cpus]
    return HeatRow(
        safe(queue, LONGEST_NAME),
        tuple(Cell("?" if rate is None else number(rate), _shade(rate, most)) for rate in rates),
    )


def _busiest(told: Figures) -> tuple[str, ...]:
    if len(told.cpus) <= MOST_CPUS:
        return told.cpus
    loads = dict.fromkeys(told.cpus, 0.0)
    for (_, cpu), both in told.interrupts.items():
        if cpu in loads:
            loads[cpu] += (both.a or 0.0) + (both.b or 0.0)
    ranked = sorted(told.cpus, key=lambda cpu: -loads[cpu])[:MOST_CPUS]
    return tuple(sorted(ranked, key=natural_order))


def _shade(rate: float | None, most: float) -> int:
    if not rate or rate < 0 or most <= 0:
        return 0
    return min(SHADES, 1 + int(rate / most * SHADES))

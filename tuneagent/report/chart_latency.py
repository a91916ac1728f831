"""Latency by percentile, both axes logarithmic: the tail is as wide as the body."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from markupsafe import Markup

from tuneagent.model.trial import Arm
from tuneagent.report import svg
from tuneagent.report.trial_figures import Both
from tuneagent.report.values import duration

WIDTH, HEIGHT = 440, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 26, 12, 46
_LABELS = (50.0, 90.0, 99.0, 99.9, 99.99)
_MARKS = {Arm.A: svg.circle, Arm.B: svg.triangle}
_NINES = 4.05
_SOME_TICKS = (1, 2, 5)
_FEW_DECADES = 1.4


def chart(latency: Mapping[float, Both]) -> Markup | None:
    """None without a latency."""
    values = [value for both in latency.values() for value in (both.a, both.b) if value]
    if not values:
        return None
    said = "; ".join(f"{percent:g} %: A {duration(one.a)}, B {duration(one.b)}" for percent, one in latency.items())
    return svg.chart("Latency by percentile", said, (WIDTH, HEIGHT), _parts(latency, values), "latency")


def _parts(latency: Mapping[float, Both], values: list[float]) -> Iterator[Markup]:
    across = svg.Scale(_nines(50.0), _NINES, _LEFT, WIDTH - _RIGHT)
    low, high = math.log10(min(values)), math.log10(max(values))
    up = svg.Scale(low - 0.08, high + 0.08, HEIGHT - _BOTTOM, _TOP)
    for tick in _ticks(low, high):
        y = up(math.log10(tick))
        yield svg.line(_LEFT, y, WIDTH - _RIGHT, y, "grid")
        yield svg.text(_LEFT - 9, y + 4, duration(tick), "end")
    for percent in _LABELS:
        x = across(_nines(percent))
        yield svg.line(x, _TOP, x, HEIGHT - _BOTTOM, "grid")
        yield svg.text(x, HEIGHT - _BOTTOM + 16, f"{percent:g} %", "middle")
    for arm in Arm:
        yield from _curve(latency, arm, across, up)
    for x, arm in ((_LEFT + 110, Arm.A), (_LEFT + 160, Arm.B)):
        yield _MARKS[arm](x, HEIGHT - 12)
        yield svg.text(x + 9, HEIGHT - 8, arm.value.upper())


def _curve(latency: Mapping[float, Both], arm: Arm, across: svg.Scale, up: svg.Scale) -> Iterator[Markup]:
    told = [(percent, value) for percent, both in latency.items() if (value := both.of(arm))]
    points = [(across(_nines(percent)), up(math.log10(value))) for percent, value in told]
    if len(points) > 1:
        yield svg.path(points, f"curve {arm.value}")
    for (x, y), (percent, value) in zip(points, told, strict=True):
        yield _MARKS[arm](x, y, f"{arm.value.upper()}: {percent:g} % not above {duration(value)}")


def _nines(percent: float) -> float:
    return -math.log10(1 - percent / 100)


def _ticks(low: float, high: float) -> Iterator[float]:
    steps = _SOME_TICKS if high - low <= _FEW_DECADES else _SOME_TICKS[::2] if high - low <= 2 * _FEW_DECADES else (1,)
    for decade in range(math.floor(low), math.ceil(high) + 1):
        for step in steps:
            value = step * 10.0**decade
            if low - 0.05 <= math.log10(value) <= high + 0.05:
                yield value

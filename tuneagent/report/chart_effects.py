"""The change of every metric with its 95 % interval, on an axis of ratios: half and double are equally far from 0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from tuneagent.model.trial import Effect
from tuneagent.report import svg
from tuneagent.report import trial_words as words

WIDTH = 440
MOST_METRICS = 24
_ROW, _TOP, _BOTTOM, _LEFT, _RIGHT = 22, 8, 30, 196, 18
_TICKS = (-90, -75, -50, -30, -20, -10, -5, -2, 0, 2, 5, 10, 20, 50, 100, 200, 400, 900)
_LONGEST_NAME = 23
"""The table beside it has it whole."""
_APART = 46
"""Units between the labels of two ticks."""
_LEAST_PERCENT = -99.9
_NARROWEST = math.log(1.05)


def chart(effects: Sequence[Effect], threshold_percent: float, primary: str) -> Markup | None:
    """None where no metric was compared by ratio."""
    shown = [one for one in effects if one.difference is None and one.percent is not None][:MOST_METRICS]
    if not shown:
        return None
    height = _TOP + _BOTTOM + _ROW * len(shown)
    said = "; ".join(f"{words.title(one.metric)} {words.change(one)} ({words.interval(one)})" for one in shown)
    parts = _parts(shown, threshold_percent, primary, height)
    return svg.chart("Change of B against A with its 95 % interval", said, (WIDTH, height), parts, "effects")


def _parts(shown: list[Effect], threshold: float, primary: str, height: int) -> Iterator[Markup]:
    across = _scale(shown)
    bottom = height - _BOTTOM
    yield from _axis(across, bottom)
    for place, one in enumerate(shown):
        y = _TOP + _ROW * place + _ROW / 2
        decides = one.metric == primary
        name = words.title(one.metric)
        short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1].rstrip()}…"
        yield svg.text(_LEFT - 10, y + 4, short + ("*" if decides else ""), "end")
        if decides and threshold > 0:
            x = across(_log(threshold))
            yield svg.line(x, y - 9, x, y + 9, "limit")
        yield from _interval(one, across, y)


def _scale(shown: list[Effect]) -> svg.Scale:
    told = [end for one in shown for end in (one.percent, one.low_percent, one.high_percent) if end is not None]
    ends = [0.0, *map(_log, told)]
    low, high = min(*ends, -_NARROWEST), max(*ends, _NARROWEST)
    margin = 0.04 * (high - low)
    return svg.Scale(low - margin, high + margin, _LEFT, WIDTH - _RIGHT)


def _axis(across: svg.Scale, bottom: float) -> Iterator[Markup]:
    last = -math.inf
    ticks = [one for one in _TICKS if across.low <= _log(one) <= across.high]
    # 0 has its label whatever stands beside it.
    for tick in sorted(ticks, key=lambda one: one != 0):
        x = across(_log(tick))
        if tick == 0:
            last = x
            yield svg.line(x, _TOP, x, bottom, "zero")
            yield svg.text(x, bottom + 16, "0 %", "middle")
    taken = [last]
    for tick in sorted((one for one in ticks if one), key=lambda one: -abs(one)):
        x = across(_log(tick))
        if all(abs(x - other) >= _APART for other in taken):
            taken.append(x)
            yield svg.line(x, _TOP, x, bottom, "grid")
            yield svg.text(x, bottom + 16, f"{tick:+d} %", "middle")


def _interval(one: Effect, across: svg.Scale, y: float) -> Iterator[Markup]:
    if one.low_percent is not None and one.high_percent is not None:
        low, high = across(_log(one.low_percent)), across(_log(one.high_percent))
        yield svg.line(low, y, high, y, "span")
        yield svg.line(low, y - 4, low, y + 4, "span")
        yield svg.line(high, y - 4, high, y + 4, "span")
    yield svg.triangle(across(_log(one.percent or 0.0)), y, f"{words.change(one)} ({words.interval(one)})")


def _log(percent: float) -> float:
    return math.log1p(max(percent, _LEAST_PERCENT) / 100)

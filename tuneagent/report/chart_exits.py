"""Exits by kind before and after, as bars with their numbers: hatched is A, solid is B."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from markupsafe import Markup

from tuneagent.model.trial import Arm
from tuneagent.report import svg
from tuneagent.report.trial_figures import Both
from tuneagent.report.values import short

WIDTH = 440
MOST_KINDS = 10
_ROW, _BAR, _LEFT, _RIGHT, _TOP, _BOTTOM = 36, 12, 130, 60, 4, 26
_LONGEST_NAME = 13


def chart(exits: Mapping[str, Both]) -> Markup | None:
    """None where no exits were counted."""
    shown = list(exits.items())[:MOST_KINDS]
    if not shown:
        return None
    height = _TOP + _BOTTOM + _ROW * len(shown)
    said = "; ".join(f"{kind}: A {short(both.a)}/s, B {short(both.b)}/s" for kind, both in shown)
    return svg.chart("Exits per second by kind", said, (WIDTH, height), _parts(shown, height), "exits")


def _parts(shown: list[tuple[str, Both]], height: int) -> Iterator[Markup]:
    most = max(max(both.a or 0.0, both.b or 0.0) for _, both in shown)
    across = svg.Scale(0.0, most or 1.0, 0, WIDTH - _LEFT - _RIGHT)
    yield _hatching()
    for place, (kind, both) in enumerate(shown):
        y = _TOP + _ROW * place
        name = kind if len(kind) <= _LONGEST_NAME else kind[: _LONGEST_NAME - 1] + "…"
        yield svg.text(_LEFT - 8, y + _BAR + 5, name, "end")
        for row, arm in enumerate(Arm):
            yield from _bar(both.of(arm), arm, across, y + 2 + row * (_BAR + 2))
    yield svg.text(_LEFT, height - 8, "hatched: A, solid: B; per second")


def _bar(value: float | None, arm: Arm, across: svg.Scale, y: float) -> Iterator[Markup]:
    if value is None:
        yield svg.text(_LEFT + 4, y + _BAR - 2, f"{arm.value.upper()}: not measured")
        return
    width = across(value)
    yield svg.element("rect", x=_LEFT, y=y, width=max(width, 1), height=_BAR, class_=f"bar {arm.value}")
    yield svg.text(_LEFT + width + 5, y + _BAR - 2, short(max(value, 0.0)))


def _hatching() -> Markup:
    stripe = svg.element("path", d="M0 6L6 0", class_="hatch")
    pattern = svg.element("pattern", stripe, id="hatch", width=6, height=6, patternUnits="userSpaceOnUse")
    return svg.element("defs", pattern)

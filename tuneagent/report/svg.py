"""Elements of SVG, escaped, and the scales of a chart. Shapes and words carry the meaning; colours are the page's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape

from tuneagent.report.safe import safe

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MARK = 4.2
"""Half the size of a mark."""


def element(name: str, *inside: str, **attributes: float | str | None) -> Markup:
    """``<name …>inside</name>``. ``class_`` and ``text_anchor`` are written as SVG has them; None is left out."""
    told = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _short(value))
        for key, value in attributes.items()
        if value is not None
    )
    content = Markup("").join(escape(one) for one in inside)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), told, content)  # noqa: S704 - names are ours


def chart(title: str, description: str, size: tuple[int, int], parts: Iterable[Markup], name: str) -> Markup:
    """A whole drawing that says to those who do not see it what it shows."""
    width, height = size
    return element(
        "svg",
        element("title", safe(title), id=f"{name}-t"),
        element("desc", safe(description, 2000), id=f"{name}-d"),
        *parts,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_labelledby=f"{name}-t {name}-d",
    )


def text(x: float, y: float, content: str, anchor: str = "start", class_: str | None = None) -> Markup:
    """Words at a place."""
    return element("text", safe(content), x=x, y=y, text_anchor=anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Iterable[tuple[float, float]], class_: str) -> Markup:
    """A line through points."""
    return element("path", d="M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in points), class_=class_)


def circle(x: float, y: float, said: str = "") -> Markup:
    """The mark of A, hollow."""
    return element("circle", *_said(said), cx=x, cy=y, r=_MARK, class_="mark a")


def triangle(x: float, y: float, said: str = "") -> Markup:
    """The mark of B, solid."""
    d = f"M{_short(x)} {_short(y - _MARK - 0.8)}l{_MARK + 0.6} {2 * _MARK}h-{2 * _MARK + 1.2}z"
    return element("path", *_said(said), d=d, class_="mark b")


def cross(x: float, y: float, said: str = "") -> Markup:
    """The mark of what does not count."""
    far = 2 * _MARK
    d = f"M{_short(x - _MARK)} {_short(y - _MARK)}l{far} {far}m0 -{far}l-{far} {far}"
    return element("path", *_said(said), d=d, class_="mark x")


def _said(said: str) -> tuple[Markup, ...]:
    return (element("title", safe(said)),) if said else ()


def _short(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from ``low`` to ``high`` onto places from ``first`` to ``last``; what lies outside is put at the end."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        """The place of a number."""
        wide = self.high - self.low
        part = 0.5 if wide <= 0 else min(1.0, max(0.0, (value - self.low) / wide))
        return self.first + part * (self.last - self.first)


def round_range(values: Iterable[float], steps: int = 4) -> tuple[float, float, list[float]]:
    """Round bounds around the values, and round numbers between them; of no number, 0 to 1."""
    found = [value for value in values if math.isfinite(value)]
    low, high = min(found, default=0.0), max(found, default=1.0)
    if high <= low:
        low, high = low - abs(low) * 0.1 - 0.5, high + abs(high) * 0.1 + 0.5
    if not math.isfinite(high - low):
        return low, high, []
    step = _step((high - low) / steps)
    first, last = math.floor(low / step), math.ceil(high / step)
    return first * step, last * step, [place * step for place in range(first, min(last, first + 4 * steps) + 1)]


def _step(rough: float) -> float:
    if not 0 < rough < math.inf:
        return 1.0
    size = 10.0 ** math.floor(math.log10(rough))
    return next(one * size for one in _STEPS if one * size >= rough * 0.999)

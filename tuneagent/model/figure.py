"""A number as people read it: the same in a sentence and in the table below it."""

from __future__ import annotations

_HUGE = 1e15
_LARGE = 100
_TINY = 0.00005


def figure(value: float) -> str:
    """``5,154``, ``97.98``, ``28.4``, ``0.0334``: whole from 100 up, at most two decimals below, four below 1.

    Beyond 10^15, where a float has no units any more, it has an exponent, and so has what four decimals would show as
    0, ``4.0e-06``: something was measured.
    """
    if isinstance(value, int):
        return f"{value:,}"  # exact, whatever its size
    if abs(value) >= _HUGE:
        return f"{value:.1e}"
    if abs(value) >= _LARGE:
        return f"{value:,.0f}"
    if 0 < abs(value) < _TINY:
        return f"{value:.1e}"
    text = f"{value:.4f}" if abs(value) < 1 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

"""Effects in words, for the reasons of a verdict."""

from __future__ import annotations

from tuneagent.model.trial import Effect


def described(effect: Effect) -> str:
    """``+5.1 % (95 % interval +2.0 to +8.3, 12 pairs)``; in the metric's own unit where differences are taken.

    So does the report, whose headline stands above this: a per cent of a difference would be another number there.
    """
    share = effect.difference is None
    value, low, high = (
        (effect.percent, effect.low_percent, effect.high_percent)
        if share
        else (effect.difference, effect.low_difference, effect.high_difference)
    )
    unit = " %" if share else ""
    pairs = f"{effect.pairs} pair{'' if effect.pairs == 1 else 's'}"
    if value is None:
        return pairs
    if low is None or high is None:
        return f"{signed(value)}{unit} ({pairs}, no interval)"
    return f"{signed(value)}{unit} (95 % interval {signed(low)} to {signed(high)}, {pairs})"


def signed(value: float) -> str:
    """One decimal and a sign: ``+5.1``; more where it is small, so that little is not told as nothing."""
    if value == 0:
        return "0"
    return f"{value:+.1f}" if abs(value) >= 1 else f"{value:+.2g}"

"""Where a trial is, on one line of standard error where a person looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from tuneagent.measure.rounds import Progress
from tuneagent.measure.sweeping import Step
from tuneagent.model.trial import Arm
from tuneagent.report.safe import safe
from tuneagent.report.trial_words import change
from tuneagent.report.values import plural

LONGEST_NAME = 60
"""Characters of what is tried, on the line."""
LONGEST_LINE = 400
_CLEAR = "\r\x1b[K"
_MINUTE_S = 60
_STATES = {Arm.A: "as it was", Arm.B: "with the changes"}


def line(what: str, now: Progress) -> str:
    """``rps-spread on eth0: round 7, with the changes; 3 pairs of at most 20; at most 4 min left; so far +12.3 %``."""
    parts = [
        f"{safe(what, LONGEST_NAME)}: round {now.round_number}, {_STATES[now.arm]}",
        f"{plural(now.pairs, 'pair')} of at most {now.pairs_max}",
        f"at most {left(now.seconds_left_at_most)} left",
    ]
    effect = now.effect
    if effect is not None and effect.percent is not None:
        parts.append(f"so far {change(effect)}")
    return "; ".join(parts)


def left(seconds: float) -> str:
    """A time that is left, no finer than it is known."""
    minutes = seconds / _MINUTE_S
    return f"{seconds:.0f} s" if minutes < 1 else f"{minutes:.0f} min"


def shown(what: str) -> Callable[[Progress], None]:
    """Rewrites its line with each round; silent where nobody looks."""
    if not _is_watched():
        return lambda _: None

    def show(now: Progress) -> None:
        with suppress(OSError):
            sys.stderr.write(_CLEAR + line(what, now))
            sys.stderr.flush()

    return show


def swept(name: str) -> Callable[[Step], None]:
    """The same of a sweep."""
    if not _is_watched():
        return lambda _: None

    def show(now: Step) -> None:
        text = f"{name}: {now.value}; block {now.block} of {now.blocks}; about {left(now.seconds_left)} left"
        with suppress(OSError):
            sys.stderr.write(_CLEAR + text)
            sys.stderr.flush()

    return show


def ended(text: str) -> None:
    """A line that stays, for whom a terminal or a log tells how far a long run has come."""
    clear()
    with suppress(OSError):
        sys.stderr.write(f"{safe(text, LONGEST_LINE)}\n")
        sys.stderr.flush()


def clear() -> None:
    """Takes the line away, before anything else is said."""
    if _is_watched():
        with suppress(OSError):
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()


def _is_watched() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

"""A sweep over the values of one setting: its curve and the knee, before they are put into words or keys."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.model.trial import Effect


@dataclass(frozen=True, slots=True)
class Point:
    """One value of the curve."""

    value: str
    mean: float
    """Geometric mean over the blocks; arithmetic where it may be nothing."""
    effect: Effect | None
    """Against the first value; its interval is one of all at once. None for the first itself."""


@dataclass(frozen=True, slots=True)
class Knee:
    """From where on a larger value brings no more."""

    value: str | None
    """None where the rounds do not resolve it."""
    why: str


@dataclass(frozen=True, slots=True)
class Sweep:
    """All that a sweep has to say."""

    version: str
    name: str
    subject: str
    metric: str
    blocks: int
    """That were measured whole."""
    points: tuple[Point, ...]
    knee: Knee
    trials: tuple[int, ...]
    """In the store, of each value but the first against the first."""
    why: str = ""
    """Why it failed; empty where all blocks were measured and the machine was put back."""
    put_back: bool = True
    """Whether the machine is as before."""

"""A stored trial in one line: what a list of ten thousand needs, and no more."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.model.trial import Decision, TrialState


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """The question, how it ended and, where there is a verdict, the primary metric's effect."""

    id: int
    began_ns: int
    """CLOCK_REALTIME."""
    ended_ns: int | None
    version: str
    policy: str
    subject: str
    title: str
    primary: str
    """Name of the metric that decides."""
    state: TrialState
    decision: Decision | None
    kept: bool | None
    transaction: int | None
    percent: float | None
    """B against A; None without a verdict. So are the rest."""
    low_percent: float | None
    high_percent: float | None
    pairs: int | None
    rounds: int
    """Rounds that were recorded, the unused ones too."""
    origin: str
    """The file that it was imported from; empty for one that was measured here."""


@dataclass(frozen=True, slots=True)
class TrialFilter:
    """Which trials are meant: those to which everything applies that is given."""

    policy: str | None = None
    subject: str | None = None
    state: TrialState | None = None
    decision: Decision | None = None

"""What a tuning did: each policy that was tried or left out, and what stands in the end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuneagent.model.trial import Trial


class Tried(StrEnum):
    """What became of one policy."""

    KEPT = "kept"
    TAKEN_BACK = "taken-back"
    FAILED = "failed"
    """No verdict; the machine was as before it."""
    LEFT_OUT = "left-out"
    """It was not tried."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One policy on one subject."""

    policy: str
    subject: str
    became: Tried
    why: str
    trial: Trial | None = None
    """None where it was left out."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """All attempts in their order, and the confirmation of what was kept together."""

    version: str
    seconds: float
    attempts: tuple[Attempt, ...]
    together: Trial | None
    """All winners against the machine as it was; None where there were fewer than two."""
    transactions: tuple[int, ...]
    """That hold what stands now; empty where the machine is as before."""
    why: str = ""
    """Why what was kept does not stand in the end."""

    @property
    def kept(self) -> tuple[Attempt, ...]:
        """The attempts whose changes won by themselves."""
        return tuple(one for one in self.attempts if one.became is Tried.KEPT)

"""One figure, and where the program lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure, its name ending in its unit, with what it must not exceed."""

    name: str
    value: float
    limit: float
    runs: int

    @property
    def within(self) -> bool:
        """Whether the limit holds."""
        return self.value <= self.limit

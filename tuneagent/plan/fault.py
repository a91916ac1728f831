"""What is wrong with policy files, each fault with its place, all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_SHOWN = 60
"""How much of a value an error shows."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault. Lines and columns count from 1."""

    path: str
    line: int
    column: int
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.found}; {self.expected}"


class PolicyError(ValueError):
    """Policy files that are not as they must be. ``faults`` has every fault of every file, in order."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        super().__init__("\n".join(str(fault) for fault in self.faults))


def shown(value: object) -> str:
    """A value as an error shows it: on one line, quoted, not without end."""
    text = repr(value[: _SHOWN + 1]) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"

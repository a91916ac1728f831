"""Questions to a guest, many at once, and the answers to them: what a fetch takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuneagent.machine.source import Text
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError


@dataclass(slots=True)
class Wanted:
    """Paths that were asked for, each once and in the order of the first question."""

    files: dict[str, None] = field(default_factory=dict)
    directories: dict[str, None] = field(default_factory=dict)
    links: dict[str, None] = field(default_factory=dict)
    modes: dict[str, None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.files) + len(self.directories) + len(self.links) + len(self.modes)


@dataclass(slots=True)
class Answers:
    """By path: the answer, or the error in its place. Holds paths that were asked for and no others."""

    clock: Clock | None = None
    files: dict[str, Text | SourceError] = field(default_factory=dict)
    directories: dict[str, tuple[str, ...] | SourceError] = field(default_factory=dict)
    links: dict[str, str | SourceError] = field(default_factory=dict)
    modes: dict[str, bool | SourceError] = field(default_factory=dict)

    def add(self, other: Answers) -> None:
        """Takes over what a later fetch gave; the clock stays that of the first."""
        self.clock = self.clock or other.clock
        self.files |= other.files
        self.directories |= other.directories
        self.links |= other.links
        self.modes |= other.modes

"""What observers may ask of a machine, whether it runs here, lies in a captured tree or in a snapshot file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tuneagent.model.clock import Clock


@dataclass(frozen=True, slots=True)
class Text:
    """A file's content and the CLOCK_MONOTONIC time at which it was read (None in a captured tree without a clock)."""

    text: str
    read_at_ns: int | None


@dataclass(frozen=True, slots=True)
class Captured:
    """What a source that is no file said, as JSON values, and when."""

    value: Any
    read_at_ns: int | None


@dataclass(frozen=True, slots=True)
class Process:
    """A running process: /proc/PID/comm (at most 15 characters) and /proc/PID/cmdline."""

    pid: int
    name: str
    command: tuple[str, ...]


class Source(Protocol):
    """The reading side of a machine. Paths are absolute, as seen from the system root: ``/proc/interrupts``.

    Every method raises :class:`tuneagent.model.errors.SourceError`, with its reason, when it has no answer.
    """

    def read(self, path: str) -> Text:
        """A regular file's text. Bytes that are not UTF-8 come escaped: a parser refuses them with their line."""
        ...

    def names(self, path: str) -> tuple[str, ...]:
        """The names in a directory, in natural order: ``rx-2`` before ``rx-10``."""
        ...

    def link(self, path: str) -> str:
        """A symbolic link's target resolved to an absolute path as seen from the system root."""
        ...

    def writable_mode(self, path: str) -> bool:
        """Whether the file's mode has a write bit for its owner: the kernel's word that it can be changed."""
        ...

    def captured(self, name: str) -> Captured:
        """A source that is no file: ``links``, ``ethtool``, ``queue-statistics``, ``units``."""
        ...

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        """The processes whose comm is one of these names, by pid.

        SourceError with PERMISSION when other users' processes are hidden (hidepid), and NOT_CAPTURED in a tree that
        holds no process at all: then "none found" would be a guess.
        """
        ...

    def clock(self) -> Clock | None:
        """The time now, or of the capture; None in a captured tree without a clock."""
        ...

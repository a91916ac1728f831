"""What could not be seen, why, and what would make it visible. An unknown is never 0."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a part of the machine could not be seen."""

    ABSENT = "absent"
    """The kernel or the machine has no such thing (ENOENT, ENODEV)."""
    PERMISSION = "permission"
    """It exists and may not be read by this user (EACCES, EPERM)."""
    EMPTY = "empty"
    """It exists and holds nothing."""
    MALFORMED = "malformed"
    """It holds something that is not the documented format."""
    TOO_LARGE = "too-large"
    """It is larger than the bound that the reader sets."""
    FAILED = "failed"
    """Reading failed for another cause (EIO, a time-out, a refused socket)."""
    UNSUPPORTED = "unsupported"
    """The driver or the kernel says that it does not report this (EOPNOTSUPP)."""
    NOT_CAPTURED = "not-captured"
    """The input is a captured tree, and this source is not a file and was not captured with it."""
    UNKNOWABLE = "unknowable"
    """It is there, and this sample cannot give it: one moment only, a clock that jumped, a counter that was reset."""


@dataclass(frozen=True, slots=True)
class Missing:
    """One part that is unknown. ``what`` is a dotted path in the snapshot or view, such as ``nic.eth0.channels``."""

    what: str
    source: str
    """The file as seen from the system root, or the name of the captured source: ``/proc/interrupts``, ``ethtool``."""
    reason: Reason
    detail: str
    line: int | None = None
    """Line in the source, from 1, where the fault is a line's."""
    remedy: str | None = None
    """What would make it visible, for a person: "run as root"."""

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{self.what}: {place}: {self.detail}"

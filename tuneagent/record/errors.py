"""Why the store cannot do what it was asked for: always one line with the file."""

from __future__ import annotations

from enum import StrEnum


class Trouble(StrEnum):
    """The kinds of it, for whoever has to choose an exit code."""

    MISSING = "missing"
    """There is no such file, or no such trial in it."""
    FORBIDDEN = "forbidden"
    """This process may not read or write it, or others than its owner may."""
    FULL = "full"
    BUSY = "busy"
    """Another process writes, for longer than one waits."""
    CORRUPT = "corrupt"
    NEWER = "newer"
    """A later version made it."""
    FOREIGN = "foreign"
    """A database, and not one of trials."""
    REFUSED = "refused"
    """What was to be stored or read in is not what it must be."""
    FAILED = "failed"


class StoreError(Exception):
    """``path: detail``. Nothing of what was asked for was done."""

    def __init__(self, path: str, detail: str, trouble: Trouble) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail
        self.trouble = trouble

"""Waits for locks, counted and recorded. What does it is loaded when it is first asked for: status never asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

if TYPE_CHECKING:
    from tuneagent.machine.lock_counting import LockCounting
    from tuneagent.machine.lock_recording import LockRecorder

COUNTS = "lock-contention"
RECORD = "lock-record"


class Locks:
    """The two sources of one machine. ``counted``: whether waits may be counted at all."""

    def __init__(self, *, counted: bool) -> None:
        self._counted = counted
        self._counting: LockCounting | None = None
        self._recorder: LockRecorder | None = None

    def counts(self) -> Any:
        """The counts since the counters were opened; SourceError."""
        if not self._counted:
            raise SourceError(COUNTS, Reason.ABSENT, "switched off by --contention never")
        if self._counting is None:
            from tuneagent.machine.lock_counting import LockCounting  # noqa: PLC0415 - see above

            self._counting = LockCounting()
        return self._counting.read()

    def record(self) -> Any:
        """The last record; SourceError."""
        return self._recording().read()

    def start(self, seconds: float) -> None:
        """Begins a record of so many seconds."""
        self._recording().start(seconds)

    def close(self) -> None:
        """Ends what is open; a later question opens it again."""
        for one in (self._counting, self._recorder):
            if one is not None:
                one.close()

    def _recording(self) -> LockRecorder:
        if self._recorder is None:
            from tuneagent.machine.lock_recording import LockRecorder  # noqa: PLC0415 - see above

            self._recorder = LockRecorder()
        return self._recorder

"""All that an actuator has in its hands."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.apply.lookup import Lookup
from tuneagent.machine.source import Source
from tuneagent.machine.writable import WritableRoot


@dataclass(frozen=True, slots=True)
class Machine:
    """The reading side, the writing side of the same root, and where things are now."""

    source: Source
    files: WritableRoot
    lookup: Lookup

    @property
    def live(self) -> bool:
        """Whether this is the running machine, with its devices and daemons, and not a tree of files."""
        return self.files.live

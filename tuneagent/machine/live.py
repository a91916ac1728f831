"""The running machine: its files, and what it says by other ways than files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from tuneagent.machine import ethtool, links, queue_statistics, units
from tuneagent.machine.source import Captured
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

PROVIDERS: Mapping[str, Callable[[], Any]] = {
    links.NAME: links.read,
    ethtool.NAME: ethtool.read,
    queue_statistics.NAME: queue_statistics.read,
    units.NAME: units.read,
}
"""Every source that is no file. Each raises SourceError only, and ends within seconds."""


class Live(Sysroot):
    """The Source that the running machine is."""

    def __init__(self) -> None:
        super().__init__("/")

    def captured(self, name: str) -> Captured:
        """Asks now: ``links``, ``ethtool``, ``queue-statistics``, ``units``."""
        provider = PROVIDERS.get(name)
        if provider is None:
            raise SourceError(name, Reason.ABSENT, "no such source")
        read_at_ns = time.monotonic_ns()
        return Captured(provider(), read_at_ns)

"""One collector a module: source and parsers → a part of the snapshot, or why it is missing. Never writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuneagent.machine.source import Source
    from tuneagent.model.snapshot import Snapshot


def snapshot(source: Source, previous: Snapshot | None = None, detail: frozenset[str] = frozenset()) -> Snapshot:
    """One look at a machine: ``whole.snapshot``."""
    from tuneagent.observe import whole  # noqa: PLC0415 - who looks up one interface needs five of fifteen modules

    return whole.snapshot(source, previous, detail)

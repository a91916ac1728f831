"""The reading side of what is changed: this machine, or a tree of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuneagent.machine.source import Source


def source_of(tree: Path | None, connect: tuple[str, ...] = ()) -> Source:
    """The reading side of this machine, or of a tree. InputError for what is no tree."""
    if tree is not None:
        from tuneagent.app.inputs import trees_as_sources

        return trees_as_sources((tree,))[0]
    from tuneagent.machine.live import Live

    return Live(connect=connect, locks=False)

"""Looks at a tree: as it is, changed, and as a user meets it who may not read some of it (root in a test may)."""

from __future__ import annotations

from pathlib import Path

from tuneagent.machine.source import Captured, Process, Text
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot
from tuneagent.observe import snapshot


class Refusing:
    """The Source that a tree is, with PERMISSION for every path, directory or captured source that is named."""

    def __init__(self, root: Path, *refused: str) -> None:
        self._tree = Sysroot(str(root))
        self._refused = frozenset(refused)

    def _check(self, path: str) -> None:
        if path in self._refused:
            raise SourceError(path, Reason.PERMISSION, "Permission denied", "run as root")

    def read(self, path: str) -> Text:
        self._check(path)
        return self._tree.read(path)

    def names(self, path: str) -> tuple[str, ...]:
        self._check(path)
        return self._tree.names(path)

    def link(self, path: str) -> str:
        self._check(path)
        return self._tree.link(path)

    def writable_mode(self, path: str) -> bool:
        self._check(f"{path} (mode)")
        return self._tree.writable_mode(path)

    def captured(self, name: str) -> Captured:
        self._check(name)
        return self._tree.captured(name)

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        self._check("/proc")
        return self._tree.processes(names)

    def clock(self) -> Clock | None:
        self._check("/captured/clock.json")
        return self._tree.clock()


def gaps_at(seen: Snapshot, source: str) -> list[Missing]:
    """What is missing for the sake of one file or captured source."""
    return [gap for gap in seen.missing if gap.source == source]


def put(root: Path, path: str, text: str) -> None:
    """Another text in a file of the tree."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def look(root: Path) -> Snapshot:
    """A snapshot of the tree."""
    return snapshot(Sysroot(str(root)))

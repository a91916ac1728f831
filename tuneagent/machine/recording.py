"""A Source that remembers what the Source behind it said, so that a snapshot can carry what it was made from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from tuneagent.machine.sample import CAPTURED, SECTIONS, clock_value, error_value, process_value, processes_key
from tuneagent.machine.source import Captured, Process, Source, Text
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

T = TypeVar("T")
_MOUNT = re.compile(r"\S+ (/|/proc(/irq)?|/sys) ")
MOST_CHARACTERS = 32 * 1024 * 1024
"""Of all texts of one recording; a machine of 256 CPUs and 1,000 interrupts has 4 million."""


class Recording:
    """Passes every question on and keeps every answer and error; of two answers to one question, the last."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._clock: Clock | None = None
        self._characters = 0
        self._answers: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}

    def sample(self) -> dict[str, Any]:
        """What was seen so far, in the shape of tuneagent.machine.sample."""
        return {"clock": clock_value(self._clock)} | {name: dict(kept) for name, kept in self._answers.items()}

    def read(self, path: str) -> Text:
        """A file's text."""
        return self._keep(
            "files",
            path,
            lambda: self._source.read(path),
            lambda it: {"text": _shareable(path, it.text), "read_at_ns": it.read_at_ns},
        )

    def names(self, path: str) -> tuple[str, ...]:
        """The names in a directory. What was captured of a tree is kept as answers, not as a directory."""
        if path == CAPTURED:
            return self._source.names(path)
        return self._keep("directories", path, lambda: self._source.names(path), list)

    def link(self, path: str) -> str:
        """Where a link leads."""
        return self._keep("links", path, lambda: self._source.link(path), str)

    def writable_mode(self, path: str) -> bool:
        """Whether a file's owner may write it."""
        return self._keep("modes", path, lambda: self._source.writable_mode(path), bool)

    def captured(self, name: str) -> Captured:
        """A source that is no file."""
        return self._keep(
            "captured",
            name,
            lambda: self._source.captured(name),
            lambda it: {"value": it.value, "read_at_ns": it.read_at_ns},
        )

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        """The processes with one of these names."""
        return self._keep(
            "processes",
            processes_key(names),
            lambda: self._source.processes(names),
            lambda found: [process_value(process) for process in found],
        )

    def clock(self) -> Clock | None:
        """The time."""
        self._clock = self._source.clock()
        return self._clock

    def _keep(self, section: str, key: str, ask: Callable[[], T], value: Callable[[T], Any]) -> T:
        try:
            answer = ask()
        except SourceError as error:
            self._answers[section][key] = error_value(error)
            raise
        kept = value(answer)
        if isinstance(answer, Text):
            self._characters += len(answer.text)
        if self._characters > MOST_CHARACTERS:
            kept = error_value(SourceError(key, Reason.TOO_LARGE, f"the recording holds {MOST_CHARACTERS} characters"))
        self._answers[section][key] = kept
        return answer


def _shareable(path: str, text: str) -> str:
    """What of a text may leave the machine in a bug report.

    The environment of a container's first process holds passwords, of which only what kind of container it is stays; of
    the mounts, which name servers and people, those that tell whether anything can be set.
    """
    if path == "/proc/1/environ":
        return "\0".join(entry for entry in text.split("\0") if entry.startswith("container="))
    if path == "/proc/self/mounts":
        return "".join(line for line in text.splitlines(keepends=True) if _MOUNT.match(line))
    return text

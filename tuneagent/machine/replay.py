"""A Source that repeats a sample: the same answers and the same errors, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tuneagent.machine import sample as shape
from tuneagent.machine.captured_json import inside, mapping
from tuneagent.machine.source import Captured, Process, Text
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

T = TypeVar("T")


class Replay:
    """The Source that a sample is.

    The sample is looked through once, at construction: CapturedJsonError (a ValueError) says what is wrong, and where.
    """

    def __init__(self, sample: Any) -> None:
        fields = mapping(sample, "$")
        self._clock = shape.clock_of(fields.get("clock"), "$.clock")
        self._files = _section(fields, "files", shape.text_of)
        self._directories = _section(fields, "directories", shape.names_of)
        self._links = _section(fields, "links", shape.link_of)
        self._modes = _section(fields, "modes", shape.mode_of)
        self._captured = _section(fields, "captured", shape.captured_of)
        self._processes = _section(fields, "processes", shape.processes_of)

    def read(self, path: str) -> Text:
        """A file's text."""
        return _answer(self._files, path)

    def names(self, path: str) -> tuple[str, ...]:
        """The names in a directory; what is no file is listed as a tree would have it."""
        if path == shape.CAPTURED and path not in self._directories:
            return tuple(f"{name}.json" for name, told in self._captured.items() if not isinstance(told, SourceError))
        return _answer(self._directories, path)

    def link(self, path: str) -> str:
        """Where a link leads."""
        return _answer(self._links, path)

    def writable_mode(self, path: str) -> bool:
        """Whether a file's owner may write it."""
        return _answer(self._modes, path)

    def captured(self, name: str) -> Captured:
        """A source that is no file."""
        return _answer(self._captured, name)

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        """The processes with one of these names."""
        return _answer(self._processes, shape.processes_key(names))

    def clock(self) -> Clock | None:
        """The time of the sample."""
        return self._clock


def _section(fields: dict[str, Any], name: str, read: Callable[[Any, str], T]) -> dict[str, T | SourceError]:
    place = inside("$", name)
    answers: dict[str, T | SourceError] = {}
    for key, value in mapping(fields.get(name, {}), place).items():
        path = inside(place, key)
        answers[key] = shape.error_of(value, key, path) or read(value, path)
    return answers


def _answer(answers: dict[str, T | SourceError], key: str) -> T:
    if key not in answers:
        raise SourceError(key, Reason.NOT_CAPTURED, "not captured: never asked for when the sample was taken")
    answer = answers[key]
    if isinstance(answer, SourceError):
        raise SourceError(answer.source, answer.reason, answer.detail, answer.remedy)
    return answer

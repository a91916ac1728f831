"""Reading with a memory for what was not there: every collector's way to a value or to a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tuneagent.machine.source import Captured, Source, Text
from tuneagent.model.clock import Clock
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.missing import Missing, Reason
from tuneagent.parse import cpulist
from tuneagent.parse.lines import U64_MAX, single

T = TypeVar("T")
_BROKEN = frozenset({Reason.MALFORMED, Reason.TOO_LARGE})
"""There is an answer, and it is no good."""


class Gaps:
    """A source together with the list of what it could not give."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.missing: list[Missing] = []
        self._captured: dict[str, Captured | SourceError] = {}

    def note(self, what: str, source: str, reason: Reason, detail: str, remedy: str | None = None) -> None:
        """Add a gap that no exception told."""
        self.missing.append(Missing(what, source, reason, detail, None, remedy))

    def text(self, what: str, path: str, *, optional: bool = False) -> Text | None:
        """A file's text; None and a note when it cannot be read. ``optional``: that it is absent needs no note."""
        try:
            return self.source.read(path)
        except SourceError as error:
            if not (optional and error.reason is Reason.ABSENT):
                self.missing.append(error.missing(what))
            return None

    def parsed(self, what: str, path: str, parse: Callable[[str], T], *, optional: bool = False) -> T | None:
        """A file's text through its parser; None and a note with file and line when either step fails."""
        text = self.text(what, path, optional=optional)
        return None if text is None else self.understood(what, path, text.text, parse)

    def timed(self, what: str, path: str, parse: Callable[[str], T]) -> tuple[T, int | None] | None:
        """Like :meth:`parsed`, with the time of the read beside the value."""
        text = self.text(what, path)
        if text is None:
            return None
        value = self.understood(what, path, text.text, parse)
        return None if value is None else (value, text.read_at_ns)

    def understood(self, what: str, source: str, value: Any, parse: Callable[[Any], T]) -> T | None:
        """A value through its parser; None and a note with the source and line when it is not understood."""
        try:
            return parse(value)
        except ParseError as error:
            self.missing.append(error.missing(what, source))
            return None

    def captured(
        self, what: str, name: str, parse: Callable[[Any], T], *, optional: bool = False
    ) -> tuple[T, int | None] | None:
        """A source that is no file, through its parser, with the time of its read. Asked once for all collectors.

        ``optional``: that it has no answer needs no note; that what it answers is broken does, for another source that
        stands in for it would be blamed.
        """
        answer = self._captured.get(name) or self._ask(name)
        if isinstance(answer, SourceError):
            if not optional or answer.reason in _BROKEN:
                self.missing.append(answer.missing(what))
            return None
        value = self.understood(what, name, answer.value, parse)
        return None if value is None else (value, answer.read_at_ns)

    def _ask(self, name: str) -> Captured | SourceError:
        answer: Captured | SourceError
        try:
            answer = self.source.captured(name)
        except SourceError as error:
            answer = error
        self._captured[name] = answer
        return answer

    def names(self, what: str, path: str, *, optional: bool = False) -> tuple[str, ...] | None:
        """A directory's names; None and a note when it cannot be listed."""
        try:
            return self.source.names(path)
        except SourceError as error:
            if not (optional and error.reason is Reason.ABSENT):
                self.missing.append(error.missing(what))
            return None

    def listed(self, path: str) -> tuple[str, ...]:
        """The names in a directory whose absence says something and is no gap; none where it cannot be listed."""
        try:
            return self.source.names(path)
        except SourceError:
            return ()

    def link(self, path: str) -> str | None:
        """Where a symbolic link leads; None where there is none. Links are structure, their absence is no gap."""
        try:
            return self.source.link(path)
        except SourceError:
            return None

    def clock(self) -> Clock | None:
        """The moment of the look; None without a clock, and a note when the one that was captured is no clock."""
        try:
            return self.source.clock()
        except SourceError as error:
            self.missing.append(error.missing("clock"))
            return None

    def word(self, what: str, path: str, *, optional: bool = True, blank: bool = False) -> str | None:
        """A file of one printable line, stripped; None when absent, and a note when it holds something else.

        ``blank``: that it is empty needs no note.
        """
        text = self.text(what, path, optional=optional)
        if text is None or (blank and not text.text.strip()):
            return None
        return self.understood(what, path, text.text, word)

    def integer(self, what: str, path: str, *, optional: bool = True, low: int = 0) -> int | None:
        """A one-number file in decimal; None and a note when it holds something else or less than ``low``."""
        text = self.text(what, path, optional=optional)
        return None if text is None else self.understood(what, path, text.text, lambda value: integer(value, low))


def some_cpus(text: str) -> CpuSet:
    """A CPU list with at least one CPU in it; ParseError otherwise."""
    cpus = cpulist.parse(text)
    if not cpus:
        raise ParseError("no CPU in it, where there is at least one", 1, Reason.EMPTY)
    return cpus


def word(text: str) -> str:
    """The only line of a text; ParseError for several, for none and for bytes that no kernel prints."""
    line = single(text)
    if len(line) > _LONGEST_WORD or "\\x" in line:  # a byte that is not UTF-8 arrives escaped
        raise ParseError(f"expected one short line of text, found {line[:40]!r}", 1)
    return line


def integer(text: str, low: int = 0) -> int:
    """One decimal number of at most 64 bits, from ``low`` up; ParseError for anything else."""
    word = text.strip()
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        raise ParseError(f"expected one decimal number, found {word[:40]!r}", 1, _empty_or_malformed(word))
    number = int(word)
    if number < low:
        raise ParseError(f"expected a number from {low} up, found {number}", 1)
    if number > U64_MAX:
        raise ParseError(f"expected a number of 64 bits, found {number}", 1)
    return number


def _empty_or_malformed(word: str) -> Reason:
    return Reason.MALFORMED if word else Reason.EMPTY


_LONGEST_WORD = 4096
"""PAGE_SIZE, the most that a sysfs attribute holds."""
_MOST_DIGITS = 20
"""Digits of the largest 64-bit number."""

"""YAML text → plain values with the place of each, strictly, in the small part of YAML that a policy needs.

Built from the parser's events rather than from composed nodes: only events still tell an explicit tag from a resolved
one and an alias from its copy, and depth and size are bounded before anything is built.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from tuneagent.plan.fault import Fault, shown
from tuneagent.plan.policy_scalar import Trap, resolve

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8
MAX_NODES = 2000

Path = tuple[str | int, ...]
Value = Any  # JSON-like: str, int, float, bool, None, list, dict

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is three times as fast, and not always there


@dataclass(frozen=True, slots=True)
class Place:
    """Line and column from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Document:
    """One file's values, where each key and value stands, and what was refused on the way."""

    value: Value = None
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Where a value (or its key) stands; for what is not there, where the nearest thing around it stands."""
        table = self.keys if key and path in self.keys else self.values
        while path and path not in table:
            path, table = path[:-1], self.values
        return table.get(path, Place(1, 1))


class _StopError(Exception):
    """Reading this file cannot go on; the fault has been noted."""


def read(path: str, text: str) -> Document:
    """The values of one YAML document. Never raises for bad input: ``faults`` says all that is wrong with it."""
    document = Document()
    document.faults.extend(_characters(path, text))
    if not document.faults:
        try:
            _Builder(path, text, document).build()
        except _StopError:
            document.value = None
    return document


def _characters(path: str, text: str) -> Iterator[Fault]:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        yield Fault(path, 1, 1, "a file that is too large", f"expected at most {MAX_BYTES // 1024} KiB")
        return
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        for column, character in enumerate(line, 1):
            fault = _character(character)
            if fault is not None:
                yield Fault(path, number, column, *fault)
                break


def _character(character: str) -> tuple[str, str] | None:
    if character == "\t":
        return "a tab", "expected blanks"
    kind = unicodedata.category(character)
    if kind == "Cs":
        return "a byte that is not UTF-8", "expected UTF-8 text"
    if kind in {"Cc", "Cf", "Co", "Cn", "Zl", "Zp"}:
        return f"a control character, U+{ord(character):04X}", "expected printable text"
    return None


class _Builder:
    """Reads events once, front to back."""

    def __init__(self, path: str, text: str, document: Document) -> None:
        self._path = path
        self._document = document
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))
        self._nodes = 0

    def build(self) -> None:
        document = self._document
        self._next()  # the stream's start
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            self._fault(event, "an empty file", "expected a policy")
            return
        document.value = self._node(self._next(), ())
        self._next()  # the document's end
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            self._fault(event, "a second document", "expected one policy a file")

    def _next(self) -> Any:
        try:
            return next(self._events)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            what = " ".join(part for part in (error.context, error.problem) if part)
            self._note(mark, f"no valid YAML: {what}", "expected YAML")
            raise _StopError from error
        except yaml.YAMLError as error:
            self._note(None, f"no valid YAML: {' '.join(str(error).split())}", "expected YAML")
            raise _StopError from error

    def _note(self, mark: Any, found: str, expected: str) -> None:
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        self._document.faults.append(Fault(self._path, line, column, found, expected))

    def _fault(self, event: Any, found: str, expected: str) -> None:
        self._note(event.start_mark, found, expected)

    def _node(self, event: Any, path: Path) -> Value:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._fault(event, "too many values", f"expected at most {MAX_NODES}")
            raise _StopError
        self._document.values[path] = _place(event)
        self._refuse_marks(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.AliasEvent):
            return None
        if len(path) >= MAX_DEPTH:
            self._fault(event, "values nested too deep", f"expected at most {MAX_DEPTH} levels")
            raise _StopError
        return self._mapping(path) if isinstance(event, yaml.MappingStartEvent) else self._sequence(path)

    def _refuse_marks(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._fault(event, f"an alias, *{event.anchor}", "expected the value itself")
        elif event.anchor is not None:
            self._fault(event, f"an anchor, &{event.anchor}", "expected the value itself")
        elif event.tag is not None:
            self._fault(event, f"a tag, {shown(event.tag)}", "expected the value alone")

    def _scalar(self, event: Any) -> Value:
        if event.style not in {None, ""} or event.tag is not None:  # libyaml says "", PyYAML's own parser None
            return event.value
        value = resolve(event.value)
        if isinstance(value, Trap):
            self._fault(event, f"{shown(event.value)}, {value.found}", value.expected)
            return None
        return value

    def _sequence(self, path: Path) -> list[Value]:
        values: list[Value] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._node(event, (*path, len(values))))
        return values

    def _mapping(self, path: Path) -> dict[str, Value]:
        mapping: dict[str, Value] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event, path, mapping)
            # The value of a key that cannot be used is kept out of sight, but its own faults are still told.
            value = self._node(self._next(), (*path, key if key is not None else _hidden(event)))
            if key is not None:
                mapping[key] = value
        return mapping

    def _key(self, event: Any, path: Path, mapping: dict[str, Value]) -> str | None:
        if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.style in {None, ""}:
            self._fault(event, "a merge key, <<", "expected the keys themselves")
            return None
        told = len(self._document.faults)
        key = self._node(event, (*path, _hidden(event)))
        if len(self._document.faults) > told:
            return None
        if not isinstance(key, str):
            self._fault(event, f"{_kind(key)} as a key", "expected a name")
            return None
        if key in mapping:
            first = self._document.keys[*path, key]
            self._fault(event, f"the key {shown(key)} again", f"it stands in line {first.line} already")
            return None
        self._document.keys[*path, key] = _place(event)
        return key


def _place(event: Any) -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


def _hidden(event: Any) -> str:
    """A path for what has no name, which no key can be: keys hold no control characters."""
    place = _place(event)
    return f"\0{place.line}:{place.column}"


def _kind(value: Value) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return shown(value)

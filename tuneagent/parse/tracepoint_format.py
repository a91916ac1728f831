"""events/SYSTEM/NAME/format of tracefs: where the fields of a tracepoint's raw data lie (trace/events.rst, 2.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import natural, numbered, shown

MAX_TEXT = 64 * 1024
MAX_FIELDS = 128
MAX_ID = 0xFFFF
"""common_type has two bytes."""
MAX_OFFSET = 1 << 16
WORD_BYTES = frozenset({1, 2, 4, 8})
DATA_LOC = "__data_loc"
DATA_LOC_BYTES = 4

_FIELD = re.compile(
    r"field:(?P<type>[^;]+?)\b(?P<name>\w+)(?:\[(?P<length>\w*)\])?;\s*"
    r"offset:(?P<offset>\d+);\s*size:(?P<size>\d+);(?:\s*signed:(?P<signed>\d+);)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Field:
    """Where one field lies in the raw data."""

    offset: int
    size: int
    """Bytes."""
    signed: bool
    string: bool
    """``__data_loc``: the field holds where its bytes lie, offset in its lower half and length in its upper."""


@dataclass(frozen=True, slots=True)
class Format:
    """A tracepoint as the running kernel has it."""

    name: str
    id: int
    """``config`` of a perf event, and common_type of its raw data."""
    fields: Mapping[str, Field]


def parse(text: str) -> Format:
    """The format that a file describes. ParseError with its line for what is not in the documented form."""
    if len(text) > MAX_TEXT:
        raise ParseError(f"more than {MAX_TEXT} characters")
    name, number, fields = "", None, dict[str, Field]()
    for line, content in numbered(text):
        key, _, value = content.partition(":")
        if key == "name":
            name = value.strip()
        elif key == "ID":
            number = natural(value.strip(), line, MAX_ID)
        elif key == "field":
            _add(fields, content, line)
        elif key == "print fmt":
            break
    if not name or number is None or not fields:
        raise ParseError("no format of a tracepoint: a name, an ID and fields are expected")
    return Format(name, number, fields)


def require(found: Format, wanted: Mapping[str, tuple[int, ...]]) -> None:
    """That the format has these fields, each of one of these sizes; ParseError naming the one that differs.

    The size 0 stands for a string (``__data_loc``).
    """
    for name, sizes in wanted.items():
        field = found.fields.get(name)
        if field is None:
            raise ParseError(f"{shown(found.name)} has no field {name}")
        size = 0 if field.string else field.size
        if size not in sizes:
            raise ParseError(f"{name} of {shown(found.name)} has {_words(size)}, not {_words(*sizes)}")


def _words(*sizes: int) -> str:
    return " or ".join("a string" if size == 0 else f"{size} bytes" for size in sizes)


def _add(fields: dict[str, Field], content: str, line: int) -> None:
    match = _FIELD.fullmatch(content)
    if match is None:
        raise ParseError(f"{shown(content, 80)} is no field: type, name, offset and size are expected", line)
    if len(fields) == MAX_FIELDS:
        raise ParseError(f"more than {MAX_FIELDS} fields", line)
    offset, size = (natural(match[key], line, MAX_OFFSET) for key in ("offset", "size"))
    string = DATA_LOC in match["type"].split()
    if string and size != DATA_LOC_BYTES:
        raise ParseError(f"{match['name']} is {DATA_LOC} of {size} bytes", line)
    fields[match["name"]] = Field(offset, size, match["signed"] == "1", string)

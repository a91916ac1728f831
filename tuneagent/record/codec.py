"""The nouns of a trial as JSON and back, strictly: what is read is what was written, or a ParseError with its place.

The keys are the fields' names and the types are the fields' annotations, so that there is one description of a trial.
Keys that this version does not know are passed over; keys that are missing have the field's default, where it has one.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from tuneagent.model.errors import ParseError

MOST_ENTRIES = 65_536
MOST_TEXT = 65_536
"""Characters; an irqbalance line that bans a thousand interrupts has 10,000."""
MOST_VALUES = 4_000_000
"""JSON values of one document; each takes about 100 bytes of memory, so that a small text can be large."""
U64_MAX = 2**64 - 1
_LONGEST_PLACE = 40
_DIGITS = 20

_Noun = TypeVar("_Noun")
_Read = Callable[[Any], Any]


class _Bad(Exception):  # noqa: N818 - never leaves this module
    """What is wrong, and where: the steps are gathered on the way out, so that what is right costs nothing."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        self.steps: list[str] = []

    def within(self, step: str) -> _Bad:
        self.steps.append(step)
        return self

    @property
    def place(self) -> str:
        return "$" + "".join(reversed(self.steps))


def encode(value: Any) -> Any:
    """JSON values without loss. ValueError for a number that JSON lacks, TypeError for what no noun here has."""
    match value:
        case StrEnum():
            return value.value
        case None | bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} is not a JSON number")
            return value
        case Mapping():
            return {str(key): encode(entry) for key, entry in value.items()}
        case list() | tuple():
            return [encode(entry) for entry in value]
    return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}


def decode(noun: type[_Noun], value: Any) -> _Noun:
    """The noun that JSON values say. ParseError with the place, ``$.rounds[3].seconds``, where they say none."""
    try:
        read: _Noun = _reader(noun)(value)  # type: ignore[arg-type] # a class is hashable
    except _Bad as error:
        raise ParseError(f"{error.place}: {error.detail}") from None
    return read


def dumps(value: Any) -> bytes:
    """JSON in one line of ASCII."""
    return json.dumps(encode(value), ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def loads(text: bytes) -> Any:
    """Any JSON value. ParseError for what is none, for a key that stands twice in one object, and for too much."""
    if sum(map(text.count, (b"[", b"{", b","))) > MOST_VALUES:
        raise ParseError(f"more than {MOST_VALUES} values")
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_object)
    except RecursionError:
        raise ParseError("nested too deep") from None
    except UnicodeDecodeError as error:
        raise ParseError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:  # of one line, so its column is the place
        raise ParseError(f"not JSON at character {error.pos + 1}: {error.msg}") from None
    except ValueError as error:
        # Of a long number Python tells only how to raise its own limit.
        said = "a number of thousands of digits" if "set_int_max_str_digits" in str(error) else str(error)
        raise ParseError(f"not JSON: {said}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {_shown(twice)} twice in one object")
    return made


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


@functools.cache
def _reader(kind: Any) -> _Read:
    """What reads a value of this type; made once a type."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in {types.UnionType, typing.Union}:
        return _optional(_reader(next(one for one in inner if one is not types.NoneType)))
    if origin is tuple:
        return _array(_reader(inner[0]))
    if origin is dict:
        return _mapping(_KEYS[inner[0]], _reader(inner[1]))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _choice({one.value: one for one in kind})
    if dataclasses.is_dataclass(kind):
        return _noun(kind)
    return _SCALARS[kind]


def _noun(kind: Any) -> _Read:
    hints = typing.get_type_hints(kind)
    fields = [(field.name, _reader(hints[field.name])) for field in dataclasses.fields(kind)]
    needed = [field.name for field in dataclasses.fields(kind) if not _has_default(field)]

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong(value, "an object")
        for name in needed:
            if name not in value:
                raise _Bad(f"{name} is missing")
        return kind(**dict(_entries(_known(value, fields))))

    return read


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _known(value: dict[str, Any], fields: Iterable[tuple[str, _Read]]) -> Iterable[tuple[str, Any, _Read]]:
    return ((name, value[name], read) for name, read in fields if name in value)


def _entries(found: Iterable[tuple[str, Any, _Read]]) -> Iterable[tuple[str, Any]]:
    for name, entry, read in found:
        try:
            yield name, read(entry)
        except _Bad as error:
            raise error.within(f".{name}") from None


def _array(inner: _Read) -> _Read:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _wrong(value, "an array")
        if len(value) > MOST_ENTRIES:
            raise _Bad(f"more than {MOST_ENTRIES} elements")
        place = 0
        found = []
        try:
            for place, entry in enumerate(value):  # noqa: B007 - for the error
                found.append(inner(entry))
        except _Bad as error:
            raise error.within(f"[{place}]") from None
        return tuple(found)

    return read


def _mapping(key_of: Callable[[str], Any], inner: _Read) -> _Read:
    def read(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise _wrong(value, "an object")
        if len(value) > MOST_ENTRIES:
            raise _Bad(f"more than {MOST_ENTRIES} members")
        found = {}
        for key, entry in value.items():
            try:
                found[key_of(key)] = inner(entry)
            except _Bad as error:
                raise error.within(f"[{_shown(key)}]") from None
        return found

    return read


def _optional(inner: _Read) -> _Read:
    return lambda value: None if value is None else inner(value)


def _choice(words: dict[str, StrEnum]) -> _Read:
    def read(value: Any) -> StrEnum:
        chosen = words.get(value) if isinstance(value, str) else None
        if chosen is None:
            raise _Bad(f"{_shown(value) if isinstance(value, str) else 'no string'}, not one of {', '.join(words)}")
        return chosen

    return read


def _text(value: Any) -> str:
    """Whatever a machine said; a report makes it harmless. Bytes that were not UTF-8 are half surrogates."""
    if not isinstance(value, str):
        raise _wrong(value, "a string")
    if len(value) > MOST_TEXT:
        raise _Bad(f"a string of more than {MOST_TEXT} characters")
    if not value.isascii():
        try:
            value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise _Bad("half of a surrogate pair") from None
    return value


def _natural(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(value, "a whole number")
    if not 0 <= value <= U64_MAX:
        raise _Bad(f"not within 0 to {U64_MAX}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(value, "a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _Bad("too large a number")
    return number


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, "true or false")
    return value


def _natural_key(key: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) <= _DIGITS and str(int(key)) == key):
        raise _Bad("the key is no whole number")
    return _natural(int(key))


def _wrong(value: Any, wanted: str) -> _Bad:
    names = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return _Bad(f"{names.get(type(value), 'a number')}, not {wanted}")


def _shown(word: str) -> str:
    return ascii(word if len(word) <= _LONGEST_PLACE else word[:_LONGEST_PLACE] + "…")


_KEYS: dict[Any, Callable[[str], Any]] = {str: _text, int: _natural_key}
_SCALARS: dict[Any, _Read] = {str: _text, int: _natural, float: _number, bool: _boolean}

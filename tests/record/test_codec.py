from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pytest

from tests import make_trials
from tuneagent.model.errors import ParseError
from tuneagent.model.load import Histogram
from tuneagent.model.trial import Round, Trial
from tuneagent.record import codec

TRIALS = {
    "e1": make_trials.e1(),
    "pin": make_trials.pin(),
    "same": make_trials.same(),
    "failed": make_trials.failed(),
    "running": make_trials.running(),
}


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, slots=True)
class Inner:
    size: int
    name: str = "x"


@dataclass(frozen=True, slots=True)
class Outer:
    inner: tuple[Inner, ...]
    share: float
    colour: Colour
    by_cpu: dict[int, int]
    by_name: dict[str, dict[str, float]]
    sure: bool
    maybe: Inner | None = None


GOOD: dict[str, Any] = {
    "inner": [{"size": 3, "name": "a"}, {"size": 4}],
    "share": 2,
    "colour": "green",
    "by_cpu": {"7": 8},
    "by_name": {"q": {"0": 1.5}},
    "sure": True,
}


def test_decode_makes_the_noun() -> None:
    made = codec.decode(Outer, GOOD)

    assert made == Outer((Inner(3, "a"), Inner(4)), 2.0, Colour.GREEN, {7: 8}, {"q": {"0": 1.5}}, sure=True)
    assert type(made.share) is float


@pytest.mark.parametrize("trial", TRIALS.values(), ids=TRIALS.keys())
def test_a_trial_comes_back_as_it_was(trial: Trial) -> None:
    assert codec.decode(Trial, codec.loads(codec.dumps(trial))) == trial


def test_every_field_of_a_trial_is_written() -> None:
    written = codec.encode(make_trials.pin())

    assert set(written) == {field.name for field in dataclasses.fields(Trial)}
    assert set(written["rounds"][0]) == {field.name for field in dataclasses.fields(Round)}


@pytest.mark.parametrize("name", ["surrogate \udc80", "nul \0", "e\u0301\u202e", "\x1b[31m"])
def test_what_a_machine_said_comes_back_byte_for_byte(name: str) -> None:
    trial = replace(make_trials.e1(), facts={name: name})

    text = codec.dumps(trial)

    assert text.isascii()
    assert codec.decode(Trial, codec.loads(text)).facts == {name: name}


def test_keys_of_a_later_version_are_passed_over() -> None:
    assert codec.decode(Outer, GOOD | {"weight": 5}) == codec.decode(Outer, GOOD)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"share": ...}, r"\$: share is missing"),
    "kind": ({"inner": {"size": 3}}, r"\$\.inner: an object, not an array"),
    "deep": ({"inner": [{"size": 3}, {"size": "3"}]}, r"\$\.inner\[1\]\.size: a string, not a whole number"),
    "true": ({"inner": [{"size": True}]}, r"\$\.inner\[0\]\.size: true or false, not a whole number"),
    "negative": ({"inner": [{"size": -1}]}, r"size: not within 0 to"),
    "huge": ({"inner": [{"size": 2**64}]}, r"size: not within 0 to"),
    "fraction": ({"inner": [{"size": 1.0}]}, r"size: a number, not a whole number"),
    "infinite": ({"share": math.inf}, r"\$\.share: too large a number"),
    "hundreds of digits": ({"share": 10**400}, r"\$\.share: too large a number"),
    "number as text": ({"share": "2"}, r"\$\.share: a string, not a number"),
    "word": ({"colour": "blue"}, r"\$\.colour: 'blue', not one of red, green"),
    "no word": ({"colour": ["red"]}, r"\$\.colour: no string, not one of red, green"),
    "key": ({"by_cpu": {"07": 8}}, r"\$\.by_cpu\['07'\]: the key is no whole number"),
    "arabic key": ({"by_cpu": {"\u0667": 8}}, r"the key is no whole number"),
    "value of a key": ({"by_name": {"q": {"0": None}}}, r"\$\.by_name\['q'\]\['0'\]: null, not a number"),
    "one": ({"sure": 1}, r"\$\.sure: a number, not true or false"),
    "half": ({"inner": [{"size": 1, "name": "\ud800"}]}, r"\$\.inner\[0\]\.name: half of a surrogate pair"),
    "long": ({"inner": [{"size": 1, "name": "x" * 65_537}]}, r"name: a string of more than 65536 characters"),
    "many": ({"inner": [{"size": 1}] * 65_537}, r"\$\.inner: more than 65536 elements"),
    "members": ({"by_name": {str(n): {} for n in range(65_537)}}, r"\$\.by_name: more than 65536 members"),
    "not null": ({"inner": None}, r"\$\.inner: null, not an array"),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], said: str) -> None:
    value = {key: entry for key, entry in (GOOD | change).items() if entry is not ...}

    with pytest.raises(ParseError, match=said):
        codec.decode(Outer, value)


def test_a_long_key_from_outside_is_cut_in_the_message() -> None:
    with pytest.raises(ParseError) as caught:
        codec.decode(Outer, GOOD | {"by_cpu": {"\x1b" * 5000: 1}})

    assert len(caught.value.detail) < 400
    assert caught.value.detail.isprintable()


BAD_TEXTS = {
    "nan": (b'{"a": NaN}', "NaN is not a JSON number"),
    "infinity": (b"[-Infinity]", "-Infinity is not a JSON number"),
    "twice": (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' twice"),
    "deep": (b"[" * 100_000, "nested too deep"),
    "digits": (b"1" * 5000, "a number of thousands of digits"),
    "bytes": (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
    "cut": (b'{"a": ', "not JSON at character 7: Expecting value"),
    "two": (b"{} {}", "Extra data"),
    "values": (b"[" + b"0," * 4_000_000 + b"0]", "more than 4000000 values"),
}


@pytest.mark.parametrize(("text", "said"), BAD_TEXTS.values(), ids=BAD_TEXTS.keys())
def test_what_is_no_json_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        codec.loads(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_lacks_is_not_written(value: float) -> None:
    with pytest.raises(ValueError, match="not a JSON number"):
        codec.encode({"a": value})


def test_counts_by_index_keep_their_whole_numbers() -> None:
    histogram = Histogram({0: 1, 2**40: 2**60}, 2**60 + 1, 2**63, 5, None)

    assert codec.decode(Histogram, json.loads(codec.dumps(histogram))) == histogram

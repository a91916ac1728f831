from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse import json_values


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (json_values.mapping, [], r"\$\.a: an array, not an object"),
        (json_values.mapping, {"x\x00": 1}, r"\$\.a: the key: holds"),
        (json_values.mapping, {1: 2}, r"\$\.a: the key: a number, not a string"),
        (json_values.mapping, dict.fromkeys(map(str, range(65_537))), "more than 65536 members"),
        (json_values.array, {}, "an object, not an array"),
        (json_values.array, [0] * 65_537, "more than 65536 elements"),
        (json_values.string, None, "null, not a string"),
        (json_values.string, "", "0 characters"),
        (json_values.string, "x" * 4097, "4097 characters"),
        (json_values.string, "\ud800", "unprintable"),
        (json_values.natural, True, "true or false, not a whole number"),
        (json_values.natural, 1.0, "a number, not a whole number"),
        (json_values.natural, -1, "not within"),
        (json_values.natural, 10**400, "not within"),
        (json_values.boolean, 1, "a number, not true or false"),
    ],
)
def test_says_where_a_value_is_wrong(check: Callable[[Any, str], Any], value: Any, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        check(value, "$.a")


def test_null_and_absent_are_not_known() -> None:
    fields = {"a": None, "b": 7, "c": "word"}
    assert json_values.optional_natural(fields, "a", "$") is None
    assert json_values.optional_natural(fields, "z", "$") is None
    assert json_values.optional_natural(fields, "b", "$") == 7
    assert json_values.optional_string(fields, "c", "$") == "word"


def test_an_odd_key_is_quoted_in_the_path() -> None:
    assert json_values.member("$", "eth0") == "$.eth0"
    assert json_values.member("$", "a.b") == "$['a.b']"

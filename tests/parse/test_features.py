from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.features import parse


def test_the_first_character_is_bit_0() -> None:
    assert parse("1100010000\n") == {0, 1, 5}


@pytest.mark.parametrize("bit", [0, 29, 63, 127])
def test_any_bit_is_where_it_stands(bit: int) -> None:
    assert parse("0" * bit + "1" + "0" * (127 - bit)) == {bit}


@pytest.mark.parametrize("text", ["", "0x21", "2", "1 0", "0\n1", "0" * 4097, "\u0660\u0661"])
def test_refuses_what_is_no_string_of_bits(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)

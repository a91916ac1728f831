from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse.lines import natural, numbered, require_printable, single


def test_numbers_lines_from_one_and_passes_over_blank_ones() -> None:
    assert numbered("\n first \n\n\tsecond") == [(2, "first"), (4, "second")]


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_nothing_in_it_is_empty(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        numbered(text)
    assert caught.value.reason is Reason.EMPTY


@pytest.mark.parametrize("odd", ["\x00", "\x1b", "\udcff", "\u2028"])
def test_refuses_what_cannot_be_printed_with_its_line(odd: str) -> None:
    with pytest.raises(ParseError) as caught:
        numbered(f"fine\nnot{odd}fine")
    assert caught.value.line == 2
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()


def test_tabs_are_blanks() -> None:
    require_printable("a\tb", 1)


def test_a_second_line_is_one_too_many() -> None:
    assert single("7\n") == "7"
    with pytest.raises(ParseError, match="line 2"):
        single("7\n8\n")


@pytest.mark.parametrize("word", ["", "-1", "+1", "1_0", "٣", "0x1", "1.0", "18446744073709551616", "9" * 5000])
def test_only_plain_digits_of_64_bits_are_a_number(word: str) -> None:
    with pytest.raises(ParseError):
        natural(word, 1)


def test_the_largest_number_is_read() -> None:
    assert natural("18446744073709551615", 1) == 2**64 - 1

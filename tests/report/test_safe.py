from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.report.safe import LONGEST, safe

HARMFUL = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("eth0", "eth0"),
        ("größe 日本 µs", "größe 日本 µs"),
        ("a\nb", "a\\nb"),
        ("a\tb\r", "a\\tb\\r"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b31m", "\\x9b31m"),  # CSI as one C1 character
        ("\x07\x00\x7f", "\\x07\\x00\\x7f"),
        ("a\u202eb\u2066c\u200d", "a\\u202eb\\u2066c\\u200d"),  # bidirectional and joining marks
        ("a\u2028b\u2029c\x85d", "a\\u2028b\\u2029c\\x85d"),  # line ends that are not \n
        ("\udcff", "\\udcff"),  # a byte that was not UTF-8
        ("\ufeffx\U000e0041", "\\ufeffx\\U000e0041"),  # byte order mark, tag characters
        ("", ""),
    ],
)
def test_what_steers_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert safe(text) == shown


@pytest.mark.parametrize("text", ["x" * 1_000_000, "ä" * 1_000_000, "\x00" * 1_000_000])
def test_what_has_no_end_is_cut_with_a_mark(text: str) -> None:
    assert len(safe(text)) == LONGEST
    assert safe(text).endswith("…")


def test_what_just_fits_is_whole() -> None:
    assert safe("x" * 10, 10) == "x" * 10
    assert safe("ä" * 10, 10) == "ä" * 10
    assert safe("x" * 11, 10) == "x" * 9 + "…"


@given(st.text(), st.integers(1, 50))
def test_nothing_harmful_is_left_and_nothing_is_too_long(text: str, longest: int) -> None:
    shown = safe(text, longest)

    assert len(shown) <= longest
    assert not {unicodedata.category(character) for character in shown} & HARMFUL


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=LONGEST))
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert safe(text) == text

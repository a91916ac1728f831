from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.choice import parse


@pytest.mark.parametrize(("text", "chosen"), [("always [madvise] never\n", "madvise"), ("[never]", "never")])
def test_reads_the_word_in_brackets(text: str, chosen: str) -> None:
    assert parse(text) == chosen


@pytest.mark.parametrize("text", ["", "always never", "[a] [b]", "[]", "[a", "[[a]]", "[a]\n[b]"])
def test_refuses_a_line_without_one_choice(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)

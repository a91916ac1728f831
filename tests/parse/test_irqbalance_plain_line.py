from __future__ import annotations

import pytest

from tuneagent.parse.irqbalance_env import parse


@pytest.mark.parametrize("line", ['OPTIONS="-t 5 " ', "OPTIONS=''", "OPTIONS=", "OPTIONS=--banirq=3 -t 5"])
def test_a_plain_line_is_kept_exactly(line: str) -> None:
    config = parse(f"# OPTIONS=x\n{line}\nOTHER=1\n", "p")
    assert (config.plain_line, config.hand_only) == (line, None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('OPTIONS="--banirq=31 \\\n --banirq=32"\n', "line 1: it goes on in the next line"),
        ('OTHER=1 \\\nOPTIONS=2\nOPTIONS="3"\n', "set on lines 2, 3"),
        ('export OPTIONS="-i31"\n', "line 1: something stands before OPTIONS"),
        (' OPTIONS="-i31"\n', "line 1: something stands before OPTIONS"),
        ('\nOPTIONS="-i31" # mine\n', "line 2: it is not plain words"),
        ("OPTIONS=-i31 # mine\n", "line 1: it is not plain words"),
        ('OPTIONS="-i31"\r\n', "line 1: it ends in a carriage return"),
        ("OPTIONS='-i31'\nOPTIONS=\n", "set on lines 1, 2"),
        ("OPTIONS=-i31\n export OPTIONS=\n", "set on lines 1, 2"),
        ('OPTIONS="-i31"-d\n', "line 1: it is not plain words"),
        ('OPTIONS="$HOME"\n', "line 1: it is not plain words"),
        ("OTHER=1", "its last line has no end"),
        ("OTHER=1 \\\n", "its last line goes on"),
        ("OTHER=1\r\n", "end in a carriage return"),
    ],
)
def test_what_only_a_hand_can_edit_is_said_with_its_line(text: str, why: str) -> None:
    config = parse(text, "p")
    assert config.plain_line is None
    assert why in (config.hand_only or "")


def test_a_line_can_be_added_to_a_file_that_sets_nothing() -> None:
    for text in ("", "\n", "# a comment\n"):
        config = parse(text, "p")
        assert (config.plain_line, config.hand_only) == (None, None)

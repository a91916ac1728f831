from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.schedstat import parse


def test_reads_time_run_and_time_waited() -> None:
    assert parse("7132 45 9\n") == (7132, 45)


@pytest.mark.parametrize("text", ["", "1 2", "1 2 3 4", "1 -2 3", "1 x 3", "1 2 3\n4 5 6\n", f"{2**64} 1 1"])
def test_refuses_anything_but_three_numbers(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)

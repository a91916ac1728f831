from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.virtio_id import parse


@pytest.mark.parametrize(("text", "number"), [("0x0001\n", 1), ("0x1A", 26), ("0xffffffff", 2**32 - 1)])
def test_reads_a_hexadecimal_number(text: str, number: int) -> None:
    assert parse(text) == number


@pytest.mark.parametrize("text", ["", "1", "0x", "0x123456789", "-0x1", "0x1\n0x2", "0xg"])
def test_refuses_anything_else(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)

from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.tun_flags import TunFlags, parse


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("0x5002\n", TunFlags(tap=True, multi_queue=False, vnet_hdr=True)),
        ("0x5102", TunFlags(tap=True, multi_queue=True, vnet_hdr=True)),
        ("0x1001", TunFlags(tap=False, multi_queue=False, vnet_hdr=False)),
        ("0x1102", TunFlags(tap=True, multi_queue=True, vnet_hdr=False)),
    ],
)
def test_tells_a_tap_from_a_tunnel(text: str, flags: TunFlags) -> None:
    assert parse(text) == flags


@pytest.mark.parametrize("text", ["", "5002", "0x", "0xg", "0x123456789", "0x1 0x2", "-0x1"])
def test_refuses_what_is_no_number(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)

"""What proves the token, and what does not."""

from __future__ import annotations

import pytest

from tuneagent.load import wire
from tuneagent.load.wire import Ask, Role, Sizes

NONCE = b"0123456789abcdef"
ASK = Ask(Role.STREAM, b"a session's bytes"[:16], Sizes(200, 3000))


def test_a_request_comes_through_as_it_was() -> None:
    data = wire.request("secret", NONCE, ASK)

    assert len(data) == wire.REQUEST_BYTES
    assert wire.asked("secret", NONCE, data) == ASK


def test_the_token_is_not_on_the_wire() -> None:
    assert b"a-very-secret-token" not in wire.request("a-very-secret-token", NONCE, ASK)


def test_an_answer_to_another_nonce_proves_nothing() -> None:
    assert wire.asked("secret", b"another nonce..."[:16], wire.request("secret", NONCE, ASK)) is None


@pytest.mark.parametrize("token", ["", "secreT", "secret "])
def test_another_token_proves_nothing(token: str) -> None:
    assert wire.asked("secret", NONCE, wire.request(token, NONCE, ASK)) is None


@pytest.mark.parametrize("place", range(wire.REQUEST_BYTES))
def test_no_byte_of_a_request_can_be_changed(place: int) -> None:
    data = bytearray(wire.request("secret", NONCE, ASK))
    data[place] ^= 1

    assert wire.asked("secret", NONCE, bytes(data)) is None


@pytest.mark.parametrize(
    ("sizes", "allowed"),
    [
        (Sizes(1, 1), True),
        (Sizes(1 << 20, 1 << 20), True),
        (Sizes(0, 1), False),
        (Sizes(1, 0), False),
        (Sizes((1 << 20) + 1, 1), False),
    ],
)
def test_sizes_have_bounds(sizes: Sizes, allowed: bool) -> None:  # noqa: FBT001 - a parameter of the table
    assert sizes.allowed is allowed


@pytest.mark.parametrize(("sizes", "room"), [(Sizes(1, 9), 1), (Sizes(9, 2), 2), (Sizes(64, 64), 4)])
def test_a_number_has_as_many_bytes_as_both_have_room_for(sizes: Sizes, room: int) -> None:
    assert sizes.sequence == room

"""What client and server say to each other before and beside the load: fixed sizes only, so nothing can grow.

The server greets with a nonce. The client answers with an HMAC-SHA-256 of the nonce and of what it wants, keyed with
the token: the token itself is never on the wire, and an answer is good once. What follows on a stream is the load.
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from enum import IntEnum

MAGIC = b"tuneld1\n"
NONCE_BYTES = 16
SESSION_BYTES = 16
NO_SESSION = bytes(SESSION_BYTES)
LARGEST_BYTES = 1 << 20
"""Of one request or response."""
SEQUENCE_BYTES = 4
"""A UDP response begins with as many bytes of its request, so that a late one is not taken for another's."""
HELLO = struct.Struct("!8s16s")
_ASK = struct.Struct("!16sBxxxII")
_PROOF_BYTES = 32
REQUEST_BYTES = _PROOF_BYTES + _ASK.size
REPLY = struct.Struct("!Bxxx16s")
COMMAND = struct.Struct("!BxHII")
ANSWER = struct.Struct("!BxHQ")


class Role(IntEnum):
    """What a connection is for."""

    CONTROL = 1
    STREAM = 2


class Status(IntEnum):
    """What the server says to a request."""

    OK = 0
    WRONG_TOKEN = 1
    BUSY = 2
    """Another client holds the server."""
    REFUSED = 3
    """Sizes out of range, no such session, or too many connections."""


class Order(IntEnum):
    """What a control connection asks for."""

    MARK = 1
    """The CPU time that the server has used."""
    DATAGRAMS = 2
    """A UDP socket for the peer's port of this number, and no other."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of a request and of its response."""

    request: int
    response: int

    @property
    def allowed(self) -> bool:
        """Whether a server deals with them."""
        return 0 < self.request <= LARGEST_BYTES and 0 < self.response <= LARGEST_BYTES

    @property
    def sequence(self) -> int:
        """Bytes of a datagram's number that fit into both."""
        return min(SEQUENCE_BYTES, self.request, self.response)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a connection wants to be."""

    role: Role
    session: bytes = NO_SESSION
    sizes: Sizes = Sizes(1, 1)


def request(token: str, nonce: bytes, ask: Ask) -> bytes:
    """The client's first bytes."""
    body = _ASK.pack(ask.session, ask.role, ask.sizes.request, ask.sizes.response)
    return _proof(token, nonce, body) + body


def asked(token: str, nonce: bytes, data: bytes) -> Ask | None:
    """What REQUEST_BYTES bytes ask for; None without the token's proof or for a role that there is not."""
    proof, body = data[:_PROOF_BYTES], data[_PROOF_BYTES:]
    if not hmac.compare_digest(proof, _proof(token, nonce, body)):
        return None
    session, role, size, answer = _ASK.unpack(body)
    return Ask(Role(role), session, Sizes(size, answer)) if role in set(Role) else None


def _proof(token: str, nonce: bytes, body: bytes) -> bytes:
    return hmac.digest(token.encode(), b"tuneagent load" + nonce + body, "sha256")

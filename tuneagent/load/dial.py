"""A client's way in to the server: connect, prove to know the token, and one clear line when that fails."""

from __future__ import annotations

import math
import socket
import time
from dataclasses import dataclass

from tuneagent.load.errors import LoadError
from tuneagent.load.wire import HELLO, MAGIC, NO_SESSION, REPLY, Ask, Status, request

PATIENCE_S = 5.0
Address = tuple[str, int] | tuple[str, int, int, int]
_REFUSALS = {
    Status.WRONG_TOKEN: "the server knows another token: give both sides the same --token-file",
    Status.BUSY: "the server is busy with another client",
    Status.REFUSED: "the server refused the connection: too many, too large, or its session has ended",
}


class Busy(LoadError):  # noqa: N818 - a state of the server
    """Another client holds the server; one that died leaves it within seconds."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and what lets us in."""

    family: socket.AddressFamily
    address: Address
    token: str

    @property
    def name(self) -> str:
        """For messages."""
        host = f"[{self.address[0]}]" if self.family == socket.AF_INET6 else self.address[0]
        return f"{host}:{self.address[1]}"


def target(host: str, port: int, token: str) -> Target:
    """The server's address, looked up once; LoadError for a host that cannot be found."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        why = error.strerror if isinstance(error, socket.gaierror) else str(error)
        raise LoadError(f"{host}: {why}") from error
    for family, _, _, _, address in found:
        if family in (socket.AF_INET, socket.AF_INET6):
            return Target(family, address, token)  # type: ignore[arg-type]  # of these two families it is an Address
    raise LoadError(f"{host}: neither an IPv4 nor an IPv6 address")


def dial(to: Target, ask: Ask, patience_s: float = PATIENCE_S) -> tuple[socket.socket, bytes]:
    """A blocking connection that the server has admitted, and its session; LoadError with the reason if not."""
    sock = socket.socket(to.family, socket.SOCK_STREAM)
    try:
        ends = time.monotonic() + patience_s
        sock.settimeout(patience_s)
        sock.connect(to.address)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        session = _admitted(to, sock, ask, ends)
        sock.settimeout(None)
    except OSError as error:
        sock.close()
        raise LoadError(_why(to, error, patience_s)) from error
    except BaseException:
        sock.close()
        raise
    return sock, session


def _admitted(to: Target, sock: socket.socket, ask: Ask, ends: float) -> bytes:
    magic, nonce = HELLO.unpack(read(sock, HELLO.size, ends))
    if magic != MAGIC:
        raise LoadError(f"{to.name} is no server of `tuneagent load serve`")
    sock.sendall(request(to.token, nonce, ask))
    status, session = REPLY.unpack(read(sock, REPLY.size, ends))
    if status != Status.OK:
        kind = Busy if status == Status.BUSY else LoadError
        raise kind(f"{to.name}: {_REFUSALS.get(status, 'the server says something that is not known here')}")
    return bytes(session) or NO_SESSION


def read(sock: socket.socket, size: int, ends: float = math.inf) -> bytes:
    """Exactly so many bytes; OSError when the peer closes before, or by ``ends`` (time.monotonic()) has not said them.

    With ``ends`` the socket's own patience becomes what was left of it: who drips is waited for no longer.
    """
    data = b""
    while len(data) < size:
        if ends < math.inf:
            _wait_until(sock, ends)
        piece = sock.recv(size - len(data))
        if not piece:
            raise ConnectionResetError
        data += piece
    return data


def _wait_until(sock: socket.socket, ends: float) -> None:
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    sock.settimeout(left)


def _why(to: Target, error: OSError, patience_s: float) -> str:
    match error:
        case ConnectionRefusedError():
            return f"{to.name} refused the connection: is `tuneagent load serve` running there?"
        case TimeoutError():
            return f"no answer from {to.name} within {patience_s:g} s"
        case ConnectionResetError() | BrokenPipeError():
            return f"{to.name} closed the connection: no server of `tuneagent load serve`, or it is ending"
    return f"{to.name}: {error.strerror or error}"

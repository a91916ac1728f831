"""Where connections wait that have not proved anything: few of them, for seconds, with a fixed number of bytes each."""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from tuneagent.load.wire import HELLO, MAGIC, NONCE_BYTES, REPLY, REQUEST_BYTES, Ask, Status, asked

MOST_WAITING = 64
"""One more, and the one that has waited longest is closed: a client that knows the token needs one round trip."""
PATIENCE_NS = 5 * 10**9
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})


@dataclass(slots=True)
class _Waiting:
    sock: socket.socket
    nonce: bytes
    until_ns: int
    said: bytes = b""


@dataclass(frozen=True, slots=True)
class Caller:
    """A connection that proved to know the token, and what it wants. It awaits a reply."""

    sock: socket.socket
    ask: Ask

    def refuse(self, status: Status) -> None:
        """Tell why, and close."""
        reply(self.sock, status)
        self.sock.close()


def reply(sock: socket.socket, status: Status, session: bytes = bytes(16)) -> bool:
    """Whether the few bytes could be sent at once; who does not read them is not waited for."""
    try:
        return sock.send(REPLY.pack(status, session), socket.MSG_DONTWAIT) == REPLY.size
    except OSError:
        return False


class Door:
    """The listening socket and those who came in by it."""

    def __init__(self, listener: socket.socket, token: str, epoll: select.epoll, clock: Callable[[], int]) -> None:
        self._listener = listener
        self._token = token
        self._epoll = epoll
        self._clock = clock
        self._waiting: dict[int, _Waiting] = {}
        epoll.register(listener, select.EPOLLIN)

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, descriptor: int) -> bool:
        return descriptor in self._waiting

    def accept(self) -> None:
        """One new connection; it is greeted."""
        try:
            sock, _ = self._listener.accept()
        except OSError as error:  # it has gone already, or there is no room for it: then somebody has to make some
            if error.errno in _NO_ROOM:
                self._make_room(0)
            return
        self._make_room(MOST_WAITING - 1)
        sock.settimeout(0)
        nonce = os.urandom(NONCE_BYTES)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.send(HELLO.pack(MAGIC, nonce))
        except OSError:
            sock.close()
            return
        self._waiting[sock.fileno()] = _Waiting(sock, nonce, self._clock() + PATIENCE_NS)
        self._epoll.register(sock, select.EPOLLIN)

    def heard(self, descriptor: int) -> Caller | None:
        """What came from one that waits; a Caller once it has said everything and proved to know the token."""
        one = self._waiting[descriptor]
        try:
            said = one.sock.recv(REQUEST_BYTES - len(one.said))
        except BlockingIOError:
            return None
        except OSError:
            said = b""
        one.said += said
        if said and len(one.said) < REQUEST_BYTES:
            return None
        self._forget(one)
        ask = asked(self._token, one.nonce, one.said) if said else None
        if ask is not None:
            return Caller(one.sock, ask)
        if said:
            reply(one.sock, Status.WRONG_TOKEN)
        one.sock.close()
        return None

    def expire(self) -> None:
        """Close those who waited too long."""
        now = self._clock()
        for one in [one for one in self._waiting.values() if one.until_ns <= now]:
            self._close(one)

    def close(self) -> None:
        """Everybody who waits, and the door."""
        self._make_room(0)
        self._listener.close()

    def _make_room(self, most: int) -> None:
        for one in tuple(self._oldest_above(most)):
            self._close(one)

    def _oldest_above(self, most: int) -> Iterator[_Waiting]:
        waiting = tuple(self._waiting.values())  # in the order of their coming
        yield from waiting[: max(0, len(waiting) - most)]

    def _close(self, one: _Waiting) -> None:
        self._forget(one)
        one.sock.close()

    def _forget(self, one: _Waiting) -> None:
        self._waiting.pop(one.sock.fileno(), None)
        with suppress(OSError):
            self._epoll.unregister(one.sock)

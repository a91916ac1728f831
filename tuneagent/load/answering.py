"""One process of the server: it answers the connections that it is handed, and knows neither token nor clients.

It keeps a few numbers for each connection and no bytes: what a response says nobody reads, so what could not be sent
yet is a count. Who does not read his responses is not read from either.
"""

from __future__ import annotations

import select
import socket
import struct
from contextlib import suppress
from typing import Protocol

from tuneagent.load.wire import LARGEST_BYTES, Sizes

PIECE = 256 * 1024
"""Bytes that are read or sent at once."""
ALONE = 64
"""Transactions of an only connection between two looks at the others' news."""
PATIENCE_S = 0.02
"""How long an only connection is waited for in recv(2)."""
HANDED = struct.Struct("!BxxxII")
STREAM, DATAGRAM, FORGET = 1, 2, 3
_BLANK = memoryview(bytes(PIECE))
_DONTWAIT = socket.MSG_DONTWAIT


class Gone(Exception):  # noqa: N818 - it is what happened, and no error
    """A connection that has ended."""


class Flow(Protocol):
    """What an answering process knows of a connection."""

    sock: socket.socket

    def answer(self, buffer: bytearray, flags: int) -> None:
        """Read once, with these flags, and send what is due. Raises Gone, and BlockingIOError when nothing came."""

    def wants(self) -> int:
        """What is to be waited for, in epoll's bits."""


class Stream:
    """A TCP connection: every ``request`` bytes are answered with ``response`` bytes."""

    __slots__ = ("partial", "response", "sizes", "sock", "unsent")

    def __init__(self, sock: socket.socket, sizes: Sizes) -> None:
        self.sock = sock
        self.sizes = sizes
        self.response = _BLANK[: sizes.response] if sizes.response <= PIECE else _BLANK
        self.partial = 0
        self.unsent = 0

    def answer(self, buffer: bytearray, flags: int) -> None:
        """See Flow."""
        if self.unsent:
            self._send()
            return
        size = self.sock.recv_into(buffer, 0, flags)
        if size == self.sizes.request and not self.partial and self.sizes.response <= PIECE:
            self.unsent = self.sizes.response - self.sock.send(self.response, _DONTWAIT)
            return
        if not size:
            raise Gone
        requests, self.partial = divmod(self.partial + size, self.sizes.request)
        self.unsent = requests * self.sizes.response
        self._send()

    def _send(self) -> None:
        while self.unsent:
            try:
                self.unsent -= self.sock.send(_BLANK[: self.unsent], _DONTWAIT)
            except BlockingIOError:
                return

    def wants(self) -> int:
        """See Flow."""
        return select.EPOLLOUT if self.unsent else select.EPOLLIN


class Datagram:
    """A UDP socket connected to one peer: a datagram of ``request`` bytes is answered, any other is not."""

    __slots__ = ("response", "sizes", "sock")

    def __init__(self, sock: socket.socket, sizes: Sizes) -> None:
        self.sock = sock
        self.sizes = sizes
        self.response = bytearray(sizes.response)

    def answer(self, buffer: bytearray, flags: int) -> None:
        """See Flow."""
        try:
            if self.sock.recv_into(buffer, 0, flags) != self.sizes.request:
                return
            count = self.sizes.sequence
            self.response[:count] = buffer[:count]
            self.sock.send(self.response, _DONTWAIT)
        except BlockingIOError:
            raise
        except OSError:
            return  # the peer's port is closed, or there is no way to it now: a datagram may get lost

    def wants(self) -> int:
        """See Flow."""
        return select.EPOLLIN


class Answering:
    """The loop of the process. It ends when the parent's end of ``orders`` is closed."""

    def __init__(self, orders: socket.socket, most: int) -> None:
        self._orders = orders
        self._most = most
        self._flows: dict[int, Flow] = {}
        self._epoll = select.epoll()
        self._epoll.register(orders, select.EPOLLIN)
        self._buffer = bytearray(max(PIECE, LARGEST_BYTES + 1))  # a datagram that is one byte too long shows as such

    def run(self) -> None:
        """Until the parent has gone."""
        with suppress(Gone):
            while True:
                for descriptor, events in self._epoll.poll():
                    if descriptor == self._orders.fileno():
                        self._take()
                    elif flow := self._flows.get(descriptor):
                        self._answer(flow, events)
                if len(self._flows) == 1:
                    self._answer_only(*self._flows.values())

    def _answer(self, flow: Flow, events: int) -> None:
        wanted = flow.wants()
        try:
            flow.answer(self._buffer, _DONTWAIT)
        except BlockingIOError:
            if events & (select.EPOLLHUP | select.EPOLLERR):
                self._drop(flow)
            return
        except (Gone, OSError):
            self._drop(flow)
            return
        if flow.wants() != wanted:
            self._epoll.modify(flow.sock, flow.wants())

    def _answer_only(self, flow: Flow) -> None:
        """Two system calls a transaction in place of three: with one connection there is nobody else to wait for."""
        try:
            for _ in range(ALONE):
                if flow.wants() != select.EPOLLIN:
                    self._epoll.modify(flow.sock, flow.wants())
                    return
                flow.answer(self._buffer, 0)  # a blocking socket with a time limit
        except BlockingIOError:
            return
        except (Gone, OSError):
            self._drop(flow)

    def _take(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._orders, HANDED.size, 1)
        if not data:
            raise Gone
        kind, request, response = HANDED.unpack(data)
        if kind == FORGET:
            for flow in tuple(self._flows.values()):
                self._drop(flow)
        for descriptor in descriptors:
            sock = socket.socket(fileno=descriptor)
            if len(self._flows) >= self._most:
                sock.close()
                continue
            self._keep(kind, sock, Sizes(request, response))

    def _keep(self, kind: int, sock: socket.socket, sizes: Sizes) -> None:
        sock.settimeout(None)
        seconds, fraction = divmod(PATIENCE_S, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(seconds), int(fraction * 1e6)))
        flow = Stream(sock, sizes) if kind == STREAM else Datagram(sock, sizes)
        self._flows[sock.fileno()] = flow
        self._epoll.register(sock, select.EPOLLIN)

    def _drop(self, flow: Flow) -> None:
        self._flows.pop(flow.sock.fileno(), None)
        with suppress(OSError):
            self._epoll.unregister(flow.sock)
        flow.sock.close()

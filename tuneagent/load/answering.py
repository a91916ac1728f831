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
    unsent: int
    """Bytes of responses that could not be sent yet."""
    blocked: bool
    """Whether epoll waits for room to send them, and not for requests."""

    def answer(self, buffer: bytearray, flags: int, times: int) -> None:
        """Read so often, with these flags, and send what is due. Raises Gone, and BlockingIOError when nothing came."""


class Stream:
    """A TCP connection: every ``request`` bytes are answered with ``response`` bytes."""

    # What is used for each transaction is kept at hand: finding a method of a socket costs as much as calling it.
    __slots__ = ("blocked", "partial", "receive", "response", "send", "simple", "sizes", "sock", "unsent")

    def __init__(self, sock: socket.socket, sizes: Sizes) -> None:
        self.sock = sock
        self.receive, self.send = sock.recv_into, sock.send
        self.sizes = sizes
        self.simple = sizes.request if sizes.response <= PIECE else -1
        """Bytes of what is a request by itself, and answered with one call."""
        self.unsent = 0
        self.blocked = False
        self.response = _BLANK[: sizes.response] if sizes.response <= PIECE else _BLANK
        self.partial = 0

    def answer(self, buffer: bytearray, flags: int, times: int) -> None:
        """See Flow."""
        receive, send, response, simple = self.receive, self.send, self.response, self.simple
        for _ in range(times):
            if self.unsent:
                self._send()
                return
            size = receive(buffer, 0, flags)
            if size == simple and not self.partial:
                self.unsent = len(response)  # also where nothing can be sent now
                self.unsent -= send(response, _DONTWAIT)
            else:
                self._several(size)

    def _several(self, size: int) -> None:
        """Some requests, and perhaps a part of one."""
        if not size:
            raise Gone
        requests, self.partial = divmod(self.partial + size, self.sizes.request)
        self.unsent = requests * self.sizes.response
        self._send()

    def _send(self) -> None:
        while self.unsent:
            try:
                self.unsent -= self.send(_BLANK[: self.unsent], _DONTWAIT)
            except BlockingIOError:
                return


class Datagram:
    """A UDP socket connected to one peer: a datagram of ``request`` bytes is answered, any other is not."""

    __slots__ = ("blocked", "response", "sizes", "sock", "unsent")

    def __init__(self, sock: socket.socket, sizes: Sizes) -> None:
        self.sock = sock
        self.sizes = sizes
        self.unsent = 0
        self.blocked = False
        self.response = bytearray(sizes.response)

    def answer(self, buffer: bytearray, flags: int, times: int) -> None:
        """See Flow."""
        receive, send, response = self.sock.recv_into, self.sock.send, self.response
        size, number = self.sizes.request, self.sizes.sequence
        try:
            for _ in range(times):
                if receive(buffer, 0, flags) == size:
                    response[:number] = buffer[:number]
                    send(response, _DONTWAIT)
        except BlockingIOError:
            raise
        except OSError:
            return  # the peer's port is closed, or there is no way to it now: a datagram may get lost


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
            flows, poll = self._flows, self._epoll.poll
            while True:
                for descriptor, events in poll():
                    if (flow := flows.get(descriptor)) is not None:
                        self._answer(flow, events)
                    elif descriptor == self._orders.fileno():
                        self._take()
                if len(flows) == 1:
                    self._answer_only(*flows.values())

    def _answer(self, flow: Flow, events: int) -> None:
        try:
            flow.answer(self._buffer, _DONTWAIT, 1)
        except BlockingIOError:
            if events & (select.EPOLLHUP | select.EPOLLERR):
                self._drop(flow)
                return
        except (Gone, OSError):
            self._drop(flow)
            return
        if flow.blocked or flow.unsent:
            self._watch(flow)

    def _answer_only(self, flow: Flow) -> None:
        """Two system calls a transaction in place of three: with one connection there is nobody else to wait for."""
        try:
            flow.answer(self._buffer, 0, ALONE)  # a blocking socket with a time limit
        except BlockingIOError:
            pass
        except (Gone, OSError):
            self._drop(flow)
            return
        self._watch(flow)

    def _watch(self, flow: Flow) -> None:
        if flow.blocked != bool(flow.unsent):
            flow.blocked = bool(flow.unsent)
            self._epoll.modify(flow.sock, select.EPOLLOUT if flow.blocked else select.EPOLLIN)

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

"""A client's connections: what was sent, since when each request waits, and what came back."""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol

from tuneagent.load.dial import Target, dial
from tuneagent.load.errors import LoadError
from tuneagent.load.wire import Ask, Role, Sizes

PIECE = 256 * 1024
MOST_RECONNECTS = 10
"""Of one connection. What breaks more often is no load."""
_BLANK = memoryview(bytes(PIECE))
_DONTWAIT = socket.MSG_DONTWAIT


class Broken(Exception):  # noqa: N818 - it is what happened to a connection
    """The connection ended; what was asked for on it will not be answered."""


class Flow(Protocol):
    """What the loop knows of a connection. Times are CLOCK_MONOTONIC in ns."""

    sock: socket.socket
    due_ns: float
    """When its next request is due, in an open loop."""
    blocked: bool
    """Whether something waits to be sent: then epoll is to say when it can be."""

    @property
    def in_flight(self) -> int:
        """Requests without an answer."""

    def send(self, since: list[int]) -> None:
        """One request for each time from which its latency counts. Raises Broken."""

    def receive(self, buffer: bytearray) -> list[int]:
        """Since when those requests waited that are answered now. Raises Broken."""

    def flush(self) -> None:
        """Send what could not be sent. Raises Broken."""

    def late(self, before_ns: int) -> int:
        """How many requests from before then are given up."""

    def waiting(self) -> Iterator[int]:
        """Since when each request waits."""

    def again(self) -> bool:
        """Whether it was connected anew after it broke; raises LoadError where that cannot be done."""


class Stream:
    """A TCP connection; answers come in the order of the requests."""

    # What is used for each transaction is kept at hand: finding a method of a socket costs as much as calling it.
    __slots__ = (
        "_again", "_breaks", "_partial", "_receive", "_request", "_request_bytes", "_response_bytes", "_send", "_since",
        "_unsent", "blocked", "due_ns", "sock",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, sizes: Sizes, again: Callable[[], socket.socket]) -> None:
        self.sock = sock
        self._receive, self._send = sock.recv_into, sock.send
        self.due_ns = 0.0
        self._request = _BLANK[: sizes.request]
        self._request_bytes, self._response_bytes = sizes.request, sizes.response
        self._again = again
        self._since: deque[int] = deque()
        self._partial = 0
        self._unsent = 0
        self.blocked = False
        self._breaks = 0

    @property
    def in_flight(self) -> int:
        """See Flow."""
        return len(self._since)

    def send(self, since: list[int]) -> None:
        """See Flow."""
        self._since.extend(since)
        self._unsent += len(since) * self._request_bytes
        if not self.blocked:
            self.flush()

    def flush(self) -> None:
        """See Flow."""
        try:
            if self._unsent == self._request_bytes:
                self._unsent -= self._send(self._request, _DONTWAIT)
            while self._unsent:
                self._unsent -= self._send(_BLANK[: self._unsent], _DONTWAIT)
        except BlockingIOError:
            self.blocked = True
        except OSError as error:
            raise Broken from error
        else:
            self.blocked = False

    def receive(self, buffer: bytearray) -> list[int]:
        """See Flow."""
        try:
            size = self._receive(buffer, 0, _DONTWAIT)
        except BlockingIOError:
            return []
        except OSError as error:
            raise Broken from error
        if not size:
            raise Broken
        if size == self._response_bytes and not self._partial and self._since:
            return [self._since.popleft()]
        answers, self._partial = divmod(self._partial + size, self._response_bytes)
        if answers > len(self._since):
            raise LoadError("the server answered more than it was asked")
        return [self._since.popleft() for _ in range(answers)]

    def late(self, before_ns: int) -> int:  # noqa: ARG002 - Flow's signature
        """TCP gives up nothing: it sends anew."""
        return 0

    def waiting(self) -> Iterator[int]:
        """See Flow."""
        return iter(self._since)

    def again(self) -> bool:
        """See Flow."""
        self.sock.close()
        self._breaks += 1
        if self._breaks > MOST_RECONNECTS:
            raise LoadError(f"a connection broke {self._breaks} times")
        self._since.clear()
        self._partial = self._unsent = 0
        self.blocked = False
        self.sock = self._again()
        self._receive, self._send = self.sock.recv_into, self.sock.send
        return True


class Datagrams:
    """A connected UDP socket; a request's number comes back with its answer, as far as it has room for one."""

    __slots__ = ("_request", "_sequence", "_since", "_sizes", "_wrap", "blocked", "due_ns", "errors", "sock")

    def __init__(self, sock: socket.socket, sizes: Sizes) -> None:
        self.sock = sock
        self.due_ns = 0.0
        self.blocked = False
        self.errors = 0
        self._sizes = sizes
        self._request = bytearray(sizes.request)
        self._since: dict[int, int] = {}
        self._sequence = 0
        self._wrap = 256**sizes.sequence

    @property
    def in_flight(self) -> int:
        """See Flow."""
        return len(self._since)

    def send(self, since: list[int]) -> None:
        """See Flow. What cannot be sent is an error, and will be lost like what the network drops."""
        size = self._sizes.sequence
        for began in since:
            self._sequence = (self._sequence + 1) % self._wrap
            self._request[:size] = self._sequence.to_bytes(size, "little")
            self._since[self._sequence] = began
            try:
                self.sock.send(self._request, _DONTWAIT)
            except OSError:
                self.errors += 1

    def flush(self) -> None:
        """Nothing waits here to be sent."""

    def receive(self, buffer: bytearray) -> list[int]:
        """See Flow. Late answers of requests that were given up are passed over."""
        try:
            got = self.sock.recv_into(buffer, 0, _DONTWAIT)
        except BlockingIOError:
            return []
        except OSError:  # a port that nobody listens on: the request is lost
            self.errors += 1
            return []
        if got != self._sizes.response:
            return []
        since = self._since.pop(int.from_bytes(buffer[: self._sizes.sequence], "little"), None)
        return [] if since is None else [since]

    def late(self, before_ns: int) -> int:
        """See Flow."""
        late = [number for number, since in self._since.items() if since < before_ns]
        for number in late:
            del self._since[number]
        return len(late)

    def waiting(self) -> Iterator[int]:
        """See Flow."""
        return iter(self._since.values())

    def again(self) -> bool:
        """A datagram socket does not break."""
        return False


def dialled(to: Target, session: bytes, sizes: Sizes, patience_s: float) -> socket.socket:
    """A connection of a session's load; LoadError."""
    return dial(to, Ask(Role.STREAM, session, sizes), patience_s)[0]


def wait_at_most(sock: socket.socket, seconds: float) -> None:
    """recv(2) and send(2) on the blocking socket give up after this time, which costs no system call of its own."""
    whole, fraction = divmod(seconds, 1)
    limit = struct.pack("ll", int(whole), int(fraction * 1e6))
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, option, limit)

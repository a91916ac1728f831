"""Several connections with one request in flight on each: what Loop does too, in a third of its Python.

The load must not be the limit that it measures, and this is the shape of most loads.
"""

from __future__ import annotations

import select
import socket
from time import monotonic_ns as clock

from tuneagent.load import ping_pong
from tuneagent.load.errors import LoadError
from tuneagent.load.flows import MOST_RECONNECTS, Broken
from tuneagent.load.spread import Share
from tuneagent.load.tally import Phases

LOOK_S = 0.05
"""How often the time is looked at when no answer comes."""
_DONTWAIT = socket.MSG_DONTWAIT


class _One:
    """A connection: its two calls at hand, and since when its request waits."""

    __slots__ = ("breaks", "missing", "receive", "send", "since", "sock")

    def __init__(self, sock: socket.socket, breaks: int = 0) -> None:
        self.sock = sock
        self.receive, self.send = sock.recv_into, sock.send
        self.since = 0
        self.missing = 0
        """Bytes of an answer that came in pieces; 0 while none of it is here."""
        self.breaks = breaks


def fits(share: Share) -> bool:
    """Whether this loop can carry it."""
    return share.connections > 1 and ping_pong.simple(share)


class Ring:
    """The connections of one process."""

    def __init__(self, share: Share, epoll: select.epoll, phases: Phases) -> None:
        self._share = share
        self._epoll = epoll
        self._phases = phases
        self._request = bytes(share.sizes.request)
        self._response = share.sizes.response
        self._buffer = bytearray(share.sizes.response + 1)
        self._ones: dict[int, _One] = {}
        for sock in share.socks:
            self._keep(_One(sock))

    def run(self) -> None:
        """Until the load's time is over; LoadError where a connection cannot be had again."""
        for one in tuple(self._ones.values()):
            self._started(one)
        while self._turn():
            pass

    def close(self) -> None:
        """The connections."""
        for one in self._ones.values():
            one.sock.close()

    def _turn(self) -> bool:
        """Everything that is ready once; False when the time is over."""
        phases, request, buffer, whole = self._phases, self._request, self._buffer, self._response
        until, add, size_sent = phases.until_ns, phases.tally.add, len(request)
        for descriptor, _ in self._epoll.poll(LOOK_S):
            one = self._ones.get(descriptor)
            if one is None:  # it broke a moment ago
                continue
            try:
                size = one.receive(buffer, 0, _DONTWAIT)
                if size != whole and not self._pieces(one, size):
                    continue
                now = clock()
                if now >= until:
                    if not phases.turn(now):
                        return False
                    until, add = phases.until_ns, phases.tally.add
                add(now - one.since)
                one.since = clock()
                if one.send(request, _DONTWAIT) != size_sent:
                    self._again(one)
            except BlockingIOError:
                continue
            except (Broken, OSError):
                self._again(one)
        now = clock()
        return now < until or phases.turn(now)

    def _pieces(self, one: _One, size: int) -> bool:
        """Whether the answer is whole with what came now."""
        if not size:
            raise Broken
        one.missing = (one.missing or self._response) - size
        if one.missing < 0:
            raise LoadError("the server answered more than it was asked")
        return not one.missing

    def _keep(self, one: _One) -> None:
        self._ones[one.sock.fileno()] = one
        self._epoll.register(one.sock, select.EPOLLIN)

    def _started(self, one: _One) -> None:
        one.since = clock()
        try:
            one.send(self._request, _DONTWAIT)
        except OSError:
            self._again(one)

    def _again(self, one: _One) -> None:
        """A new connection in its place; what was asked for on the old one is lost with it."""
        self._phases.tally.errors += 1
        del self._ones[one.sock.fileno()]
        self._epoll.unregister(one.sock)
        one.sock.close()
        if one.breaks >= MOST_RECONNECTS:
            raise LoadError(f"a connection broke {one.breaks + 1} times")
        new = _One(self._share.dialled(), one.breaks + 1)
        self._phases.tally.reconnects += 1
        self._keep(new)
        self._started(new)

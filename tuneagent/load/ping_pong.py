"""One connection with one request in flight: the loop that costs least, as the latency is the rate here."""

from __future__ import annotations

import socket
from time import monotonic_ns as clock

from tuneagent.load.errors import LoadError
from tuneagent.load.flows import MOST_RECONNECTS, PIECE, Broken, wait_at_most
from tuneagent.load.spread import Share
from tuneagent.load.tally import Phases

LOOK_S = 0.1
"""A wait for an answer looks at the time this often."""


def fits(share: Share) -> bool:
    """Whether this loop can carry it."""
    return share.connections == 1 and simple(share)


def simple(share: Share) -> bool:
    """Whether each connection has one request in flight, sent when the answer came, that fits a socket's buffer."""
    spec = share.spec
    small = max(share.sizes.request, share.sizes.response) <= PIECE // 16
    return spec.burst == 1 and small and not share.datagrams and spec.rate_per_sec is None and not spec.think_us


def run(share: Share, phases: Phases) -> None:
    """Until the load's time is over; LoadError where the connection cannot be had again."""
    sock = share.stream(0)
    reconnects = 0
    while True:
        wait_at_most(sock, LOOK_S)
        try:
            _exchange(sock, share, phases)
        except Broken:
            sock.close()
            phases.tally.errors += 1
            reconnects += 1
            if reconnects > MOST_RECONNECTS:
                raise LoadError(f"a connection broke {reconnects} times") from None
            sock = share.dialled()
            phases.tally.reconnects += 1
        else:
            sock.close()
            return


def _exchange(sock: socket.socket, share: Share, phases: Phases) -> None:
    request, response = bytes(share.sizes.request), share.sizes.response
    buffer = bytearray(response + 1)
    send, receive, size_sent = sock.send, sock.recv_into, len(request)
    until, add = phases.until_ns, phases.tally.add
    while True:
        since = clock()
        try:
            if send(request) != size_sent:
                raise Broken
            size = receive(buffer)
            if not size:
                raise Broken
        except BlockingIOError:
            size = 0
        except OSError as error:
            raise Broken from error
        if size != response:
            if not _rest(sock, buffer, response - size, phases):
                return
            until, add = phases.until_ns, phases.tally.add
        now = clock()
        if now >= until:
            if not phases.turn(now):
                return
            until, add = phases.until_ns, phases.tally.add
        add(now - since)


def _rest(sock: socket.socket, buffer: bytearray, missing: int, phases: Phases) -> bool:
    """Whether the rest of an answer came before the load's time was over."""
    while missing > 0:
        try:
            size = sock.recv_into(buffer, missing)
        except BlockingIOError:
            now = clock()
            if now >= phases.until_ns and not phases.turn(now):
                return False
            continue
        except OSError as error:
            raise Broken from error
        if not size:
            raise Broken
        missing -= size
    if missing:
        raise LoadError("the server answered more than it was asked")
    return True

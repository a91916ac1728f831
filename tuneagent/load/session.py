"""The one client of a server: its control connection, and the connections of its load, dealt out in turn."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress

from tuneagent.load import answering, children
from tuneagent.load.wire import ANSWER, COMMAND, SESSION_BYTES, Order, Sizes, Status

LARGEST_DATAGRAM = 65_507
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 2), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 5))


def notice_when_gone(sock: socket.socket) -> None:
    """A peer that lost its link or its power ends an idle connection within 7 s (tcp(7))."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        sock.setsockopt(socket.IPPROTO_TCP, option, value)


class Workers:
    """The answering processes. Connections go to them in turn, so that each round has the same share in each."""

    def __init__(self, pids: Sequence[int], orders: Sequence[socket.socket]) -> None:
        self.pids = tuple(pids)
        self._orders = tuple(orders)
        self._next = 0

    def hand(self, kind: int, sock: socket.socket, sizes: Sizes) -> bool:
        """Whether the next process was handed the connection; our own end of it is to be closed by the caller."""
        orders = self._orders[self._next % len(self._orders)]
        message = answering.HANDED.pack(kind, sizes.request, sizes.response)
        try:
            socket.send_fds(orders, [message], [sock.fileno()], socket.MSG_DONTWAIT)
        except OSError:
            return False
        self._next += 1
        return True

    def forget(self) -> None:
        """Close all connections of the load, and begin to count anew."""
        self._next = 0
        for orders in self._orders:
            with suppress(OSError):
                orders.send(answering.HANDED.pack(answering.FORGET, 0, 0))

    def cpu_ns(self) -> int:
        """What the processes and ourselves have used since they started."""
        return sum(children.cpu_ns(pid) for pid in (*self.pids, os.getpid()))

    def close(self) -> None:
        """End the processes."""
        for orders in self._orders:
            orders.close()
        children.end(self.pids)


class Session:
    """One client, from its control connection's first order to its end."""

    def __init__(self, control: socket.socket, workers: Workers) -> None:
        self.id = os.urandom(SESSION_BYTES)
        self.control = control
        self._workers = workers
        self._said = b""
        control.settimeout(0)
        notice_when_gone(control)

    def heard(self) -> bool:
        """Whether the client is still there, after what it said was done."""
        try:
            said = self.control.recv(COMMAND.size - len(self._said))
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._said += said
        if len(self._said) < COMMAND.size:
            return bool(said)
        order, port, request, response = COMMAND.unpack(self._said)
        self._said = b""
        return self._answer(self._done(order, port, Sizes(request, response)))

    def _done(self, order: int, port: int, sizes: Sizes) -> bytes:
        if order == Order.MARK:
            return ANSWER.pack(Status.OK, 0, self._workers.cpu_ns())
        if (
            order == Order.DATAGRAMS
            and port
            and max(sizes.request, sizes.response) <= LARGEST_DATAGRAM
            and sizes.allowed
        ):
            with suppress(OSError):
                return ANSWER.pack(Status.OK, self._datagrams(port, sizes), 0)
        return ANSWER.pack(Status.REFUSED, 0, 0)

    def _datagrams(self, port: int, sizes: Sizes) -> int:
        """The port of a new UDP socket that hears this client's port alone; OSError where there can be none."""
        here, peer = self.control.getsockname(), self.control.getpeername()
        with socket.socket(self.control.family, socket.SOCK_DGRAM) as sock:
            sock.bind((here[0], 0, *here[2:]))
            sock.connect((peer[0], port, *peer[2:]))
            if not self._workers.hand(answering.DATAGRAM, sock, sizes):
                raise OSError
            return int(sock.getsockname()[1])

    def _answer(self, answer: bytes) -> bool:
        try:
            return self.control.send(answer, socket.MSG_DONTWAIT) == len(answer)
        except OSError:
            return False

    def stream(self, sock: socket.socket, sizes: Sizes) -> bool:
        """Whether a connection of the load was taken."""
        return sizes.allowed and self._workers.hand(answering.STREAM, sock, sizes)

    def close(self) -> None:
        """The client has gone, or has to."""
        self.control.close()
        self._workers.forget()

"""The server of TCP_RR and UDP_RR: where it is told, for one client that knows the token, and not for ever.

The parent listens, looks at tokens and hands out connections; the processes that answer never see who is not admitted,
so that noise at the door costs the load nothing but the parent's CPU. Connections are handed out in turn, and not by
SO_REUSEPORT's hash: by the hash each round would have another share of the connections on each process.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from tuneagent.load import answering, children
from tuneagent.load.door import Caller, Door, reply
from tuneagent.load.errors import LoadError
from tuneagent.load.session import Session, Workers
from tuneagent.load.wire import Role, Status

MOST_CONNECTIONS = 4096
MOST_PROCESSES = 256
_TICK_S = 1.0
_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """Where to listen, for whom and for how long."""

    address: str
    """A numeric IPv4 or IPv6 address of this machine."""
    token: str
    port: int = 0
    """0: one that is free."""
    processes: int = 1
    for_s: float = 3600.0
    """It ends after this time in any case."""
    idle_s: float = 600.0
    """It ends this long after a client has gone when no other came; 0: with its first client."""
    cpus: tuple[int, ...] = ()
    """The n-th process is pinned to the n-th of these CPUs; empty: not pinned."""


class Ended(StrEnum):
    """Why a server ended."""

    TIME = "its time was over"
    CLIENT = "its client has gone"


class Server:
    """A server that listens from when it is made; ``run`` serves. Use it as a context: it ends its processes."""

    def __init__(self, spec: ServerSpec) -> None:
        """LoadError where it cannot listen there."""
        if not 1 <= spec.processes <= MOST_PROCESSES:
            raise LoadError(f"{spec.processes} processes: 1 to {MOST_PROCESSES} can be had")
        children.check_pins(spec.cpus)
        self._spec = spec
        self._ends_ns = time.monotonic_ns() + round(spec.for_s * 1e9)
        self._listener = _listener(spec)
        self._workers = self._started()
        self._epoll = select.epoll()
        self._door = Door(self._listener, spec.token, self._epoll, time.monotonic_ns)
        self._session: Session | None = None
        self._left_ns: int | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        name = self._listener.getsockname()
        return name[0], name[1]

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that answer."""
        return self._workers.pids

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._session is not None:
            self._session.close()
        self._workers.close()
        self._door.close()
        self._epoll.close()

    def _started(self) -> Workers:
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(self._spec.processes)]
        ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        pids = [children.start(self._work(place, theirs[place], ours)) for place in range(len(pairs))]
        for sock in theirs:
            sock.close()
        return Workers(pids, ours)

    def _work(self, place: int, orders: socket.socket, others: list[socket.socket]) -> Callable[[], None]:
        def work() -> None:
            self._listener.close()
            for other in others:
                other.close()
            children.pin(self._spec.cpus, place)
            answering.Answering(orders, MOST_CONNECTIONS).run()

        return work

    def run(self) -> Ended:
        """Serves until its time is over or its client has gone; LoadError where one of its processes died."""
        while (why := self._over()) is None:
            for descriptor, _ in self._epoll.poll(self._wait_s()):
                self._heard(descriptor)
            self._door.expire()
        return why

    def _over(self) -> Ended | None:
        now = time.monotonic_ns()
        if children.ended(self.pids):
            raise LoadError("a process of the server died")
        if now >= self._ends_ns:
            return Ended.TIME
        left = self._left_ns
        return Ended.CLIENT if left is not None and now - left >= self._spec.idle_s * 1e9 else None

    def _wait_s(self) -> float:
        return max(0.0, min(_TICK_S, (self._ends_ns - time.monotonic_ns()) / 1e9))

    def _heard(self, descriptor: int) -> None:
        if descriptor == self._listener.fileno():
            self._door.accept()
        elif descriptor in self._door:
            if (caller := self._door.heard(descriptor)) is not None:
                self._admit(caller)
        elif self._session is not None and descriptor == self._session.control.fileno() and not self._session.heard():
            self._leave(self._session)

    def _leave(self, session: Session) -> None:
        self._epoll.unregister(session.control)
        session.close()
        self._session = None
        self._left_ns = time.monotonic_ns()

    def _admit(self, caller: Caller) -> None:
        if caller.ask.role is Role.STREAM:
            self._admit_stream(caller)
        elif self._session is not None:
            caller.refuse(Status.BUSY)
        else:
            session = Session(caller.sock, self._workers)
            if not reply(caller.sock, Status.OK, session.id):
                caller.sock.close()
                return
            self._session, self._left_ns = session, None
            self._epoll.register(caller.sock, select.EPOLLIN)

    def _admit_stream(self, caller: Caller) -> None:
        session, ask = self._session, caller.ask
        if session is None or ask.session != session.id or not session.stream(caller.sock, ask.sizes):
            caller.refuse(Status.REFUSED)
            return
        reply(caller.sock, Status.OK, session.id)
        caller.sock.close()  # the process that answers has it now


def _listener(spec: ServerSpec) -> socket.socket:
    where = f"{spec.address} port {spec.port}"
    try:
        found = socket.getaddrinfo(spec.address, spec.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        raise LoadError(f"{spec.address!r} is no numeric address to listen on") from error
    sock = socket.socket(found[0][0], socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sock.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(found[0][4])
        sock.listen(_BACKLOG)
        sock.settimeout(0)
    except OSError as error:
        sock.close()
        raise LoadError(f"cannot listen on {where}: {error.strerror or error}") from error
    with suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock

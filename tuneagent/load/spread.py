"""A load's connections dealt out to its processes."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass

from tuneagent.load.dial import Target
from tuneagent.load.flows import Datagrams, Flow, Stream, dialled
from tuneagent.load.wire import Sizes
from tuneagent.model.load import LoadKind, LoadSpec

RECONNECT_S = 2.0


@dataclass(frozen=True, slots=True)
class Share:
    """One process's part."""

    spec: LoadSpec
    place: int
    """Of the process, from 0."""
    to: Target
    session: bytes
    socks: tuple[socket.socket, ...]
    places: tuple[int, ...]
    """Of each connection among all of the load."""

    @property
    def connections(self) -> int:
        """How many."""
        return len(self.socks)

    @property
    def sizes(self) -> Sizes:
        """Of requests and responses."""
        return Sizes(self.spec.request_bytes, self.spec.response_bytes)

    @property
    def datagrams(self) -> bool:
        """UDP."""
        return self.spec.kind is LoadKind.UDP_RR

    def stream(self, number: int) -> socket.socket:
        """One of the connections."""
        return self.socks[number]

    def dialled(self) -> socket.socket:
        """A new connection in place of one that broke."""
        return dialled(self.to, self.session, self.sizes, RECONNECT_S)

    def flows(self) -> tuple[Flow, ...]:
        """The connections as the loop wants them."""
        if self.datagrams:
            return tuple(Datagrams(sock, self.sizes) for sock in self.socks)
        return tuple(Stream(sock, self.sizes, self.dialled) for sock in self.socks)

    def keep_only_mine(self, all_socks: Sequence[socket.socket]) -> None:
        """Close what the other processes use: a connection must end when its process does."""
        mine = {sock.fileno() for sock in self.socks}
        for sock in all_socks:
            if sock.fileno() not in mine:
                sock.close()


def shares(spec: LoadSpec, to: Target, session: bytes, socks: Sequence[socket.socket]) -> list[Share]:
    """A part for each process; the n-th connection goes to the n-th process, and around."""
    return [
        Share(
            spec,
            place,
            to,
            session,
            tuple(socks[place :: spec.processes]),
            tuple(range(len(socks)))[place :: spec.processes],
        )
        for place in range(spec.processes)
    ]

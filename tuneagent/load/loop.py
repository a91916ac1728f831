"""Many connections, or requests in flight, or sent by the clock: one process, one epoll."""

from __future__ import annotations

import heapq
import select
from time import monotonic_ns as clock

from tuneagent.load.flows import PIECE, Broken, Datagrams, Flow
from tuneagent.load.pace import Closed, Open, Pace
from tuneagent.load.spread import Share
from tuneagent.load.tally import Phases, Tally, Times

LOOK_S = 0.05
"""How often requests are looked for that are late."""
LOOK_NS = round(LOOK_S * 1e9)
LOST_AFTER_NS = 1_000_000_000
"""A UDP request without an answer is given up after this time."""
_RATE_NS = 1e9


class Loop:
    """The connections of one process. ``epoll`` is made by whoever makes the connections: see ``_wait``."""

    def __init__(self, share: Share, epoll: select.epoll, times: Times) -> None:
        self._flows = {flow.sock.fileno(): flow for flow in share.flows()}
        self._epoll = epoll
        self._buffer = bytearray(PIECE)
        self._datagrams = share.datagrams
        self._heap: list[tuple[float, int]] = []
        self._armed: set[int] = set()
        self._open = _open(share)
        self._pace: Pace = self._open or Closed(share.spec.burst, share.spec.think_us * 1000)
        self._at_once = not self._pace.timed
        """Each answer is followed by a request, with the time at which that is sent."""
        self.phases = Phases(times, self._count_waiting)
        self._look_ns = 0
        now = clock()
        if self._open is not None:
            self._open.start(tuple(self._flows.values()), share.places, share.spec.connections, now)
        for descriptor in self._flows:
            epoll.register(descriptor, select.EPOLLIN)

    def run(self) -> None:
        """Until the load's time is over; LoadError where a connection cannot be had again."""
        now = clock()
        self._look_ns = now + LOOK_NS
        for flow in tuple(self._flows.values()):
            self._send(flow, self._pace.first(flow, now), now, 0)
        phases = self.phases
        while True:
            for descriptor, events in self._wait(now):
                if (ready := self._flows.get(descriptor)) is not None:  # else it broke a moment ago
                    self._ready(ready, events)
            now = clock()
            if now >= phases.until_ns and not phases.turn(now):
                return
            if self._heap:
                self._due(now)
            if now >= self._look_ns:
                self._give_up(now)

    def close(self) -> None:
        """The connections."""
        for flow in self._flows.values():
            flow.sock.close()

    def _count_waiting(self, tally: Tally, end_ns: int) -> None:
        if self._open is not None:
            self._open.count_waiting(tuple(self._flows.values()), tally, end_ns)

    def _wait(self, now: int) -> list[tuple[int, int]]:
        if not self._heap:
            return self._epoll.poll(LOOK_S)  # an edge of the time is passed with the next answer, and told by its time
        until = min(self.phases.until_ns, self._look_ns, int(self._heap[0][0]))
        if until > now:
            # epoll_wait(2) counts milliseconds, select(2) microseconds; it takes descriptors below 1,024 only, so the
            # epoll is made before the connections are.
            select.select([self._epoll], [], [], (until - now) / 1e9)
        return self._epoll.poll(0)

    def _ready(self, flow: Flow, events: int) -> None:
        try:
            if events & select.EPOLLOUT:
                self._flush(flow)
            since = flow.receive(self._buffer)
        except Broken:
            self._again(flow, clock())
            return
        if not since:
            return
        now = clock()
        if now >= self.phases.until_ns:
            self.phases.turn(now)
        add = self.phases.tally.add
        for began in since:
            add(now - began)
        if self._at_once:
            self._put(flow, [clock()] * len(since), now)
        else:
            self._send(flow, self._pace.answered(flow, now, len(since)), now, len(since))

    def _flush(self, flow: Flow) -> None:
        flow.flush()
        if not flow.blocked:
            self._epoll.modify(flow.sock, select.EPOLLIN)

    def _send(self, flow: Flow, since: list[int], now: int, answers: int) -> None:
        """Send what is due, and remember when the next will be."""
        if since and not self._put(flow, since, now):
            return
        if self._pace.timed:
            self._arm(flow, now, answers)

    def _put(self, flow: Flow, since: list[int], now: int) -> bool:
        """Whether the connection stands."""
        blocked = flow.blocked
        try:
            flow.send(since)
        except Broken:
            self._again(flow, now)
            return False
        if flow.blocked and not blocked:
            self._epoll.modify(flow.sock, select.EPOLLIN | select.EPOLLOUT)
        return True

    def _arm(self, flow: Flow, now: int, answers: int) -> None:
        descriptor = flow.sock.fileno()
        if descriptor in self._armed:
            return
        times = self._pace.next_ns(flow, now, answers)
        if times and self._open is not None:  # of an open loop, one entry stands for all that follow
            self._armed.add(descriptor)
        for at in times:
            heapq.heappush(self._heap, (at, descriptor))

    def _due(self, now: int) -> None:
        while self._heap and self._heap[0][0] <= now:
            _, descriptor = heapq.heappop(self._heap)
            self._armed.discard(descriptor)
            if flow := self._flows.get(descriptor):
                self._send(flow, self._pace.due(flow, now), now, 0)

    def _give_up(self, now: int) -> None:
        self._look_ns = now + LOOK_NS
        if not self._datagrams:
            return
        for flow in self._flows.values():
            if late := flow.late(now - LOST_AFTER_NS):
                self.phases.tally.lost += late
                self._send(flow, self._pace.answered(flow, now, late), now, late)
            if isinstance(flow, Datagrams):
                self.phases.tally.errors += flow.errors
                flow.errors = 0

    def _again(self, flow: Flow, now: int) -> None:
        """Everything that was in flight is lost with the connection; the new one begins anew."""
        descriptor = flow.sock.fileno()
        self._epoll.unregister(descriptor)
        del self._flows[descriptor]
        self.phases.tally.errors += 1
        self._heap = [entry for entry in self._heap if entry[1] != descriptor]
        heapq.heapify(self._heap)
        self._armed.discard(descriptor)
        flow.again()
        self.phases.tally.reconnects += 1
        self._flows[flow.sock.fileno()] = flow
        self._epoll.register(flow.sock, select.EPOLLIN)
        self._send(flow, self._pace.first(flow, now), now, 0)


def _open(share: Share) -> Open | None:
    rate = share.spec.rate_per_sec
    return None if rate is None else Open(share.spec.burst, _RATE_NS * share.spec.connections / rate)

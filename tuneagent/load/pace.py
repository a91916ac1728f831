"""When the next request of a connection is due: after an answer (closed loop), or by the clock (open loop).

In an open loop a request that could not be sent when it was due, because its connection has its requests in flight,
waits, and its latency counts from then on: a stall of the other side is measured by all that it delayed (wrk2's way
out of coordinated omission), and takes no memory, for a queue of equal steps is one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tuneagent.load.flows import Flow
from tuneagent.load.tally import Tally


class Pace(Protocol):
    """What the loop asks. Times are CLOCK_MONOTONIC in ns."""

    timed: bool
    """Whether requests are sent by the clock, so that waiting has to be exact."""

    def first(self, flow: Flow, now_ns: int) -> list[int]:
        """Since when the first requests wait that are to be sent now; and after a connection was made anew."""

    def answered(self, flow: Flow, now_ns: int, answers: int) -> list[int]:
        """The same, as so many answers came or were given up."""

    def due(self, flow: Flow, now_ns: int) -> list[int]:
        """The same, as the time has come that ``next_ns`` gave."""

    def next_ns(self, flow: Flow, now_ns: int, answers: int) -> list[float]:
        """When to ask for ``due``: at each of these times."""


class Closed:
    """Each answer makes the next request due, after the think time."""

    def __init__(self, burst: int, think_ns: int) -> None:
        self._burst = burst
        self._think_ns = think_ns
        self.timed = think_ns > 0

    def first(self, flow: Flow, now_ns: int) -> list[int]:
        """See Pace."""
        return [now_ns] * (self._burst - flow.in_flight)

    def answered(self, flow: Flow, now_ns: int, answers: int) -> list[int]:  # noqa: ARG002 - Pace's signature
        """See Pace."""
        return [] if self._think_ns else [now_ns] * answers

    def due(self, flow: Flow, now_ns: int) -> list[int]:
        """See Pace."""
        return [now_ns] if flow.in_flight < self._burst else []

    def next_ns(self, flow: Flow, now_ns: int, answers: int) -> list[float]:  # noqa: ARG002 - as above
        """See Pace."""
        return [float(now_ns + self._think_ns)] * answers if self._think_ns else []


class Open:
    """Each connection's requests are due at equal steps, whatever comes back."""

    timed = True

    def __init__(self, burst: int, step_ns: float) -> None:
        self._burst = burst
        self._step_ns = step_ns

    def start(self, flows: Sequence[Flow], places: Sequence[int], all_flows: int, now_ns: int) -> None:
        """The connections take turns: the first request of each is its share of a step later than the one before."""
        for flow, place in zip(flows, places, strict=True):
            flow.due_ns = now_ns + self._step_ns * place / all_flows

    def first(self, flow: Flow, now_ns: int) -> list[int]:
        """See Pace."""
        return self.due(flow, now_ns)

    def answered(self, flow: Flow, now_ns: int, answers: int) -> list[int]:  # noqa: ARG002 - Pace's signature
        """See Pace."""
        return self.due(flow, now_ns)

    def due(self, flow: Flow, now_ns: int) -> list[int]:
        """See Pace."""
        since = []
        for _ in range(self._burst - flow.in_flight):
            if flow.due_ns > now_ns:
                break
            since.append(int(flow.due_ns))
            flow.due_ns += self._step_ns
        return since

    def next_ns(self, flow: Flow, now_ns: int, answers: int) -> list[float]:
        """See Pace."""
        del now_ns, answers
        return [flow.due_ns] if flow.in_flight < self._burst else []  # else an answer comes first

    def count_waiting(self, flows: Sequence[Flow], tally: Tally, end_ns: int) -> None:
        """Requests that were due and have no answer have waited at least until the end: else we flatter."""
        for flow in flows:
            for since in flow.waiting():
                tally.add_waiting(max(0, end_ns - since), 0, 1)
            unsent = int((end_ns - flow.due_ns) // self._step_ns) + 1 if flow.due_ns <= end_ns else 0
            if unsent:
                tally.add_waiting(int(end_ns - flow.due_ns - (unsent - 1) * self._step_ns), self._step_ns, unsent)

"""What one process of a load counts, and the three parts of its time: warm-up, the measured seconds, and after them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tuneagent.model.histogram import BUCKETS, MOST_NS, bucket_of, of_counts
from tuneagent.model.load import Histogram


@dataclass(slots=True)
class Tally:
    """Counts of one part of the time."""

    counts: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    transactions: int = 0
    sum_ns: int = 0
    least_ns: int = 1 << 62
    most_ns: int = -1
    errors: int = 0
    reconnects: int = 0
    lost: int = 0
    waiting: int = 0
    """Requests that were due, and without an answer when the time was over."""

    def add(self, ns: int) -> None:
        """One transaction took so long."""
        # bucket_of() written out: this runs for every transaction, and a call costs as much again.
        # So with min() and max(): 60 ns each.
        within = ns if ns < MOST_NS else MOST_NS  # noqa: FURB136 - as said
        shift = within.bit_length() - 8
        if shift < 0:  # noqa: PLR1730 - as said
            shift = 0
        self.counts[(shift << 7) + (within >> shift)] += 1
        self.transactions += 1
        self.sum_ns += ns
        if ns < self.least_ns:  # noqa: PLR1730 - as said
            self.least_ns = ns
        if ns > self.most_ns:  # noqa: PLR1730 - as said
            self.most_ns = ns

    def add_waiting(self, ages_from_ns: int, step_ns: float, count: int) -> None:
        """``count`` requests have waited this long, and each a step longer than the one before."""
        self.waiting += count
        stride = max(1, count // 100_000)  # more would not be finer than the buckets are
        for place in range(0, count, stride):
            age = ages_from_ns + round(place * step_ns)
            weight = min(stride, count - place)
            self.counts[bucket_of(age)] += weight
            self.sum_ns += age * weight
            self.least_ns, self.most_ns = min(self.least_ns, age), max(self.most_ns, age)

    def histogram(self) -> Histogram:
        """Latencies as the model has them."""
        came = self.most_ns >= 0
        return of_counts(self.counts, self.sum_ns, self.least_ns if came else None, self.most_ns if came else None)


@dataclass(frozen=True, slots=True)
class Times:
    """CLOCK_MONOTONIC of the edges of the measured seconds, and of the load's end; the same in every process."""

    begin_ns: int
    end_ns: int
    stop_ns: int


class Phases:
    """Which part of the time it is. ``until_ns`` is the next edge; whoever passes it calls ``turn``."""

    __slots__ = ("_cpu_ns", "_on_end", "_times", "cpu_ns", "measured", "tally", "until_ns")

    def __init__(self, times: Times, on_end: Callable[[Tally, int], None] | None = None) -> None:
        self._times = times
        self._on_end = on_end
        self.tally = Tally()
        self.until_ns = times.begin_ns
        self.measured: Tally | None = None
        self._cpu_ns = time.process_time_ns()
        self.cpu_ns = 0

    def turn(self, now_ns: int) -> bool:
        """The next part begins, or more than one after a long wait; False when the load's time is over."""
        while now_ns >= self.until_ns:
            if self.until_ns == self._times.begin_ns and self.measured is None:
                self.tally = self.measured = Tally()
                self._cpu_ns = time.process_time_ns()
                self.until_ns = self._times.end_ns
            elif self.until_ns == self._times.end_ns and self.tally is self.measured:
                self.cpu_ns = time.process_time_ns() - self._cpu_ns
                if self._on_end is not None:
                    self._on_end(self.measured, self._times.end_ns)
                self.tally = Tally()
                self.until_ns = self._times.stop_ns
            else:
                return False
        return True

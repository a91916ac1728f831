"""A load and what it measured: transactions, latency, errors, and what the load itself cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LoadKind(StrEnum):
    """Where the numbers of a round come from."""

    TCP_RR = "tcp-rr"
    UDP_RR = "udp-rr"
    SOCKPERF = "sockperf"
    NETPERF = "netperf"
    NEPER = "neper"
    IPERF3 = "iperf3"
    COMMAND = "command"
    """A user's command that prints one number."""
    PASSIVE = "passive"
    """No load: the machine's own packets and segments."""


WHOLE_SECONDS = frozenset({LoadKind.SOCKPERF, LoadKind.NETPERF, LoadKind.NEPER, LoadKind.IPERF3})
"""Programs that run for whole seconds, and measure their own warming up too."""


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """What is to be sent. A closed loop waits for each answer; an open loop sends at ``rate_per_sec`` regardless."""

    kind: LoadKind
    host: str = ""
    port: int = 0
    connections: int = 1
    request_bytes: int = 1
    response_bytes: int = 1
    burst: int = 1
    """Requests in flight on one connection."""
    think_us: int = 0
    processes: int = 1
    rate_per_sec: float | None = None
    """Over all connections; None for a closed loop."""
    cpus: tuple[int, ...] = ()
    """CPUs that the load's processes are pinned to; empty: not pinned, which makes rounds bistable."""
    command: tuple[str, ...] = ()
    """Of ``command``; and more options of an adapter's program."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Latencies in buckets of at most 1 % width; ``counts`` by index, of the values that came.

    ``model.histogram`` says which latency an index means. In an open loop latencies count from when a request was
    due, not from when it was sent, so that a stall of the other side is not left out.
    """

    counts: dict[int, int]
    total: int
    sum_ns: int
    min_ns: int | None
    max_ns: int | None


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What one run of a load measured."""

    seconds: float
    transactions: int | None
    """Request and response pairs that were completed; None for a load without transactions."""
    value: float | None = None
    """What a bulk load or a user's command says instead, in ``unit``."""
    unit: str = "transactions/s"
    latency: Histogram | None = None
    errors: int = 0
    reconnects: int = 0
    lost: int = 0
    """UDP requests without an answer in time."""
    client_cpu_s: float | None = None
    """User and system time of the load's own processes on this side."""
    server_cpu_s: float | None = None
    client_cpus: tuple[int, ...] = ()
    """CPUs on which the load's processes were seen."""
    notes: tuple[str, ...] = ()
    wider: bool = False
    """Whether ``seconds`` hold more on either side than was asked for: a program that runs for whole seconds."""

    @property
    def per_sec(self) -> float | None:
        """Transactions a second, or what stands for them."""
        if self.transactions is not None:
            return self.transactions / self.seconds if self.seconds > 0 else None
        return self.value

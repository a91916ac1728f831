"""What a load may ask for. The bounds are far beyond what is useful, and a slip of the pen eats no machine."""

from __future__ import annotations

from tuneagent.load.errors import LoadError
from tuneagent.load.wire import LARGEST_BYTES
from tuneagent.model.load import LoadKind, LoadSpec

MOST_CONNECTIONS = 4096
MOST_PROCESSES = 256
MOST_BURST = 1024
MOST_THINK_US = 60_000_000
LEAST_RATE, MOST_RATE = 0.001, 10_000_000.0
LONGEST_S = 86_400.0
LONGEST_TOLD_S = 10 * LONGEST_S
"""What is believed of a program that tells for how long it ran: it runs a little longer than it was asked to."""
LARGEST_DATAGRAM = 65_507
MOST_NUMBERED = 128
"""UDP requests in flight on a connection when their number has one byte."""


def check(spec: LoadSpec, seconds: float) -> None:
    """LoadError with the first thing that is out of range."""
    if not 0 < seconds <= LONGEST_S:
        raise LoadError(f"{seconds:g} s: a load runs for more than 0 and at most {LONGEST_S:g} s")
    _check_range("connections", spec.connections, 1, MOST_CONNECTIONS)
    _check_range("processes", spec.processes, 1, min(MOST_PROCESSES, spec.connections))
    _check_range("requests in flight", spec.burst, 1, MOST_BURST)
    _check_range("µs of think time", spec.think_us, 0, MOST_THINK_US)
    _check_sizes(spec)
    if spec.rate_per_sec is not None:
        _check_rate(spec, spec.rate_per_sec)


def _check_rate(spec: LoadSpec, rate: float) -> None:
    if not LEAST_RATE <= rate <= MOST_RATE:  # which no nan is
        raise LoadError(f"a rate of {rate:g} requests/s: {LEAST_RATE:g} to {MOST_RATE:,.0f} can be had")
    if spec.think_us:
        raise LoadError("a think time belongs to a closed loop, and a rate to an open one: give one of them")


def _check_sizes(spec: LoadSpec) -> None:
    datagrams = spec.kind is LoadKind.UDP_RR
    most = LARGEST_DATAGRAM if datagrams else LARGEST_BYTES
    _check_range("bytes of a request", spec.request_bytes, 1, most)
    _check_range("bytes of a response", spec.response_bytes, 1, most)
    if datagrams and min(spec.request_bytes, spec.response_bytes) == 1:
        _check_range("requests in flight of one byte", spec.burst, 1, MOST_NUMBERED)


def _check_range(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise LoadError(f"{value} {what}: {least} to {most} can be had")

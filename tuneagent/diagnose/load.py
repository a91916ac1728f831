"""How much load one queue carries: ratios per packet mean little without it."""

from __future__ import annotations

from collections.abc import Callable

from tuneagent.diagnose.thresholds import LOAD_PACKETS_PER_SEC_PER_QUEUE, MIN_PACKETS_PER_SEC
from tuneagent.model.figure import figure
from tuneagent.model.view import NicRate, QueueRate


def needs(seen: str) -> str:
    """What was seen, and how much a ratio per packet needs: less to be called well than to be called a fault."""
    return (
        f"{seen}; from {figure(MIN_PACKETS_PER_SEC)} on a low ratio is well, and from "
        f"{figure(LOAD_PACKETS_PER_SEC_PER_QUEUE)} through one queue on a high one is a fault"
    )


def busiest_rx_packets_per_sec(rate: NicRate) -> float | None:
    """Packets a second through the busiest receive queue; None when not even the NIC's total is known."""
    counted = _largest(rate, lambda queue: queue.rx_packets_per_sec)
    return _share(rate.rx_packets_per_sec, rate, lambda q: q.rx_interrupts_per_sec) if counted is None else counted


def busiest_tx_packets_per_sec(rate: NicRate) -> float | None:
    """Packets a second through the busiest transmit queue; None when not even the NIC's total is known."""
    counted = _largest(rate, lambda queue: queue.tx_packets_per_sec)
    return _share(rate.tx_packets_per_sec, rate, lambda q: q.tx_kicks_per_sec) if counted is None else counted


def _largest(rate: NicRate, value: Callable[[QueueRate], float | None]) -> float | None:
    known = [number for number in map(value, rate.queues) if number is not None]
    return max(known, default=None)


def _share(total: float | None, rate: NicRate, weight: Callable[[QueueRate], float | None]) -> float | None:
    """The busiest queue's part of a total, by another counter; even parts where that is not known either."""
    if total is None:
        return None
    weights = [number for number in map(weight, rate.queues) if number is not None]
    if weights and sum(weights) > 0:
        return total * max(weights) / sum(weights)
    return total / max(len(rate.queues), 1)

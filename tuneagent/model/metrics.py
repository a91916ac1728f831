"""The numbers of a round: their names, units, which way they should go, and which of them may be nothing at all."""

from __future__ import annotations

from tuneagent.model.trial import Better, Metric

TRANSACTIONS = "transactions_per_sec"
PACKETS = "packets_per_sec"
EXITS_PER_TRANSACTION = "exits_per_transaction"

METRICS = (
    Metric(TRANSACTIONS, "/s", Better.UP, "transactions/s"),
    Metric(PACKETS, "/s", Better.UP, "packets/s"),
    Metric("exits_per_sec", "/s", Better.NEITHER, "exits/s"),
    Metric(EXITS_PER_TRANSACTION, "", Better.DOWN, "exits per transaction"),
    Metric("interrupts_per_sec", "/s", Better.NEITHER, "interrupts/s"),
    Metric("interrupts_per_packet", "", Better.NEITHER, "interrupts per packet"),
    Metric("cpu_per_transaction_us", "us", Better.DOWN, "CPU per transaction"),
    Metric("tx_cpu_percent", "%", Better.NEITHER, "sender's CPU"),
    Metric("rx_cpu_percent", "%", Better.NEITHER, "receiver's CPU"),
    Metric("vhost_cpu_percent", "%", Better.NEITHER, "vhost workers' CPU"),
    Metric("latency_p50_us", "us", Better.DOWN, "latency, median"),
    Metric("latency_p99_us", "us", Better.DOWN, "latency, 99th percentile"),
    Metric("drops", "", Better.DOWN, "drops"),
    Metric("retransmits", "", Better.DOWN, "retransmits"),
    Metric("lock_waits_per_sec", "/s", Better.DOWN, "lock waits/s"),
    Metric("steal_percent", "%", Better.NEITHER, "CPU taken by others"),
)
"""In the order in which they are told."""

MAY_BE_ZERO = frozenset({"drops", "retransmits", "lock_waits_per_sec", "vhost_cpu_percent", "steal_percent"})
"""Nothing is a good value of these: B is compared with A by difference, because a ratio to nothing says nothing."""

_OF_GUARDS = {"cpu_per_transaction": "cpu_per_transaction_us", "latency_p99": "latency_p99_us"}
"""Policies name what they guard without its unit."""


def metric(name: str) -> Metric:
    """The metric of that name; one that nobody knows (a user's command has its own) is told, and not judged."""
    return next((known for known in METRICS if known.name == name), Metric(name, "", Better.NEITHER, name))


def measured_name(guarded: str) -> str:
    """The name in a round's metrics of what a policy's guard names."""
    return _OF_GUARDS.get(guarded, guarded)

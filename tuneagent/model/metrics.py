"""The numbers of a round: their names, units, which way they should go, and which of them may be nothing at all."""

from __future__ import annotations

from tuneagent.model.trial import Better, Metric

TRANSACTIONS = "transactions_per_sec"
PACKETS = "packets_per_sec"
BITS = "bits_per_sec"
SEGMENTS = "segments_per_sec"
EXITS_PER_TRANSACTION = "exits_per_transaction"
CPU_PER_TRANSACTION = "cpu_per_transaction_us"
EXITS_PER_PACKET = "exits_per_packet"
CPU_PER_PACKET = "cpu_per_packet_us"

METRICS = (
    Metric(TRANSACTIONS, "/s", Better.UP, "transactions/s"),
    Metric(
        PACKETS,
        "/s",
        Better.UP,
        "packets/s",
        "as the interfaces count them: virtio and taps one for all segments of a batch",
    ),
    Metric(
        BITS,
        "bit/s",
        Better.UP,
        "throughput",
        "what arrived, as iperf3 tells; where no load is run what passed through the interfaces, both ways together",
    ),
    Metric(
        SEGMENTS,
        "/s",
        Better.NEITHER,
        "TCP segments/s",
        "where no load is run: of all connections of this network namespace, without those that are sent again; "
        "received ones as GRO has merged them",
    ),
    Metric("exits_per_sec", "/s", Better.NEITHER, "exits/s"),
    Metric(EXITS_PER_TRANSACTION, "", Better.DOWN, "exits per transaction"),
    Metric(
        "tx_cpu_percent",
        "%",
        Better.NEITHER,
        "CPU of the side that sends requests",
        "on the measured side the busy share, without steal, of the CPUs that take the NIC's interrupts (of the vCPUs' "
        "threads where the guest is not asked); on the other side what the load's own processes used of one CPU",
    ),
    Metric(
        "rx_cpu_percent",
        "%",
        Better.NEITHER,
        "CPU of the side that answers",
        "as that of the side that sends",
    ),
    Metric("interrupts_per_sec", "/s", Better.NEITHER, "interrupts/s", "of the NIC's queues, without its config's"),
    Metric(
        "interrupts_per_packet",
        "",
        Better.NEITHER,
        "interrupts per received packet",
        "receive interrupts; where queues share a vector with transmit, all of it",
    ),
    Metric("latency_p50_us", "us", Better.DOWN, "latency, median"),
    Metric("latency_p99_us", "us", Better.DOWN, "latency, 99th percentile"),
    Metric(
        CPU_PER_TRANSACTION,
        "us",
        Better.DOWN,
        "CPU per transaction, without the load's own",
        "time that the measured side's CPUs (a virtual machine's vCPU, vhost and emulator threads) were busy, less "
        "what the load's processes used there, which has their system calls in it",
    ),
    Metric("vhost_cpu_percent", "%", Better.NEITHER, "vhost workers' CPU", "all of the virtual machine's, of one CPU"),
    Metric("lock_waits_per_sec", "/s", Better.DOWN, "lock waits/s"),
    Metric("drops", "", Better.DOWN, "drops", "packets in the round, of the NICs and of their taps"),
    Metric("retransmits", "", Better.DOWN, "retransmits", "TCP segments in the round, of both sides that are seen"),
    Metric(
        "softnet_squeezes_per_sec",
        "/s",
        Better.NEITHER,
        "softnet squeezes/s",
        "receive passes that ended with packets left",
    ),
    Metric("steal_percent", "%", Better.NEITHER, "CPU taken by others", "of the CPU that lost most"),
    Metric(
        "run_queue_wait_percent",
        "%",
        Better.NEITHER,
        "waiting for a CPU",
        "the vCPU and vhost threads together, runnable and not running, in percent of the round",
    ),
    Metric(
        EXITS_PER_PACKET, "", Better.DOWN, "exits per packet", "where no load is run: per packet through the interfaces"
    ),
    Metric(
        CPU_PER_PACKET,
        "us",
        Better.DOWN,
        "CPU per packet",
        "where no load is run: all that the measured side's CPUs did, per packet through the interfaces",
    ),
)
"""In the order in which they are told."""

OF_PASSIVE = (SEGMENTS, EXITS_PER_PACKET, CPU_PER_PACKET)
"""Measured only where no load is run."""

MAY_BE_ZERO = frozenset(
    {
        "drops",
        "retransmits",
        "lock_waits_per_sec",
        "vhost_cpu_percent",
        "softnet_squeezes_per_sec",
        "steal_percent",
        "run_queue_wait_percent",
    }
)
"""Nothing is a good value of these: B is compared with A by difference, because a ratio to nothing says nothing."""

COUNTS = frozenset({"drops", "retransmits"})
"""Counted over a round, whose length in work is not always the same: a guard compares them at equal work."""

_OF_GUARDS = {"cpu_per_transaction": CPU_PER_TRANSACTION, "latency_p99": "latency_p99_us"}
"""Policies name what they guard without its unit."""


def metric(name: str) -> Metric:
    """The metric of that name; one that nobody knows (a user's command has its own) is told, and not judged."""
    return next((known for known in METRICS if known.name == name), Metric(name, "", Better.NEITHER, name))


def measured_name(guarded: str) -> str:
    """The name in a round's metrics of what a policy's guard names."""
    return _OF_GUARDS.get(guarded, guarded)

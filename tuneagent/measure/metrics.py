"""From what was seen over the measured seconds, and the load's own result, to the metrics of a round. Pure."""

from __future__ import annotations

from tuneagent.measure import domain_side, machine_side
from tuneagent.measure.rounds import Measured
from tuneagent.measure.scope import Scope
from tuneagent.measure.seen import Figure, Seen, known, over, parted, times
from tuneagent.model import metrics as names
from tuneagent.model.figure import figure
from tuneagent.model.histogram import percentile_ns
from tuneagent.model.load import LoadResult
from tuneagent.model.view import View

MOST_APART = 0.05
"""Part by which the interval of the counters and the load's measured seconds may differ, to be divided."""
PASSIVE = "no load is run: how much there is of it is the traffic's doing and not the change's"
_ROUNDING = 1e-9
_TRANSACTIONS = "transactions/s"
_BITS = "bit/s"
_NONE = "no transaction came to its end"
_LONGEST_UNIT = 32
OF_ANY_TRAFFIC = frozenset(
    {
        names.PACKETS,
        names.BITS,
        "interrupts_per_packet",
        *names.OF_PASSIVE,
        *("drops", "retransmits", "steal_percent", "run_queue_wait_percent"),
    }
)
"""Ratios to packets, what guards need, what tells that a round was disturbed; and how much passed, for who knows that
somebody else drives it as fast as it is answered: packets of requests, bits of bulk data, whose packets get fewer where
larger batches are merged."""


def metrics(view: View, load: LoadResult, scope: Scope) -> Measured:
    """The metrics of a round by ``model.metrics``'s names; each is a number, or has its reason in ``missing``.

    ``view`` is that of this machine over the load's measured seconds, with the guest's beside where it was asked. A
    load that says a number in a unit of its own adds a metric of that name. Without any load (neither transactions nor
    a value) only what holds for any traffic is told.
    """
    seen = domain_side.seen(view, scope) if scope.domain is not None else machine_side.seen(view, scope.nics)
    values, missing = parted(_passive(seen) if is_passive(load) else _loaded(seen, load, scope))
    return Measured(
        seconds=load.seconds,
        metrics=values,
        missing=missing,
        queue_interrupts=seen.queue_interrupts,
        exits_by_kind=seen.exits_by_kind,
        load=load,
        steal_percent=values.get("steal_percent"),
    )


def is_passive(load: LoadResult) -> bool:
    """Whether this is no load's result."""
    return load.transactions is None and load.value is None


def _loaded(seen: Seen, load: LoadResult, scope: Scope) -> dict[str, Figure]:
    transactions = _transactions(load)
    apart = _apart(seen, load)
    return {
        **_own_unit(load),
        names.TRANSACTIONS: transactions,
        **_of_side(seen),
        names.EXITS_PER_TRANSACTION: apart or over(seen.exits_per_sec, transactions, _NONE),
        "tx_cpu_percent": _sender(seen, load, scope),
        "rx_cpu_percent": _receiver(seen, load, scope),
        "latency_p50_us": _latency(load, 50),
        "latency_p99_us": _latency(load, 99),
        names.CPU_PER_TRANSACTION: apart or times(over(_without_load(seen, load, scope), transactions, _NONE), 1e6),
    }


def _passive(seen: Seen) -> dict[str, Figure]:
    no_packets = "no packets passed within the interval"
    told: dict[str, Figure] = {
        **_of_side(seen),
        names.PACKETS: seen.packets_per_sec or no_packets,
        names.BITS: seen.bits_per_sec or no_packets,
        names.SEGMENTS: seen.segments_per_sec,
        names.EXITS_PER_PACKET: over(seen.exits_per_sec, seen.packets_per_sec, no_packets),
        names.CPU_PER_PACKET: times(over(seen.busy_cpus, seen.packets_per_sec, no_packets), 1e6),
    }
    return {one.name: told[one.name] if one.name in OF_ANY_TRAFFIC else PASSIVE for one in names.METRICS}


def _of_side(seen: Seen) -> dict[str, Figure]:
    return {
        names.PACKETS: seen.packets_per_sec,
        "exits_per_sec": seen.exits_per_sec,
        "interrupts_per_sec": seen.interrupts_per_sec,
        "interrupts_per_packet": seen.interrupts_per_packet,
        "vhost_cpu_percent": seen.vhost_cpu_percent,
        "lock_waits_per_sec": seen.lock_waits_per_sec,
        "drops": seen.drops,
        "retransmits": seen.retransmits,
        "softnet_squeezes_per_sec": seen.softnet_squeezes_per_sec,
        "steal_percent": seen.steal_percent,
        "run_queue_wait_percent": seen.run_queue_wait_percent,
    }


def _transactions(load: LoadResult) -> Figure:
    if load.transactions is None and load.unit != _TRANSACTIONS:
        return "the load counts no transactions"
    return known(load.per_sec, "the load's measured seconds are none")


def _own_unit(load: LoadResult) -> dict[str, Figure]:
    """What a bulk load or a user's command says; its unit is its name, unless a metric is called so."""
    taken = {one.name for one in names.METRICS} | {_TRANSACTIONS, ""}
    if load.transactions is not None or load.value is None or load.unit in taken:
        return {}
    name = names.BITS if load.unit == _BITS else load.unit[:_LONGEST_UNIT]
    return {name: known(load.value, "the load says no finite number")}


def _apart(seen: Seen, load: LoadResult) -> str:
    """Why the counters may not be divided by the load's transactions; empty where they may.

    Both are rates: a load that ran for longer on either side had the same one within.
    """
    if seen.seconds is None:
        return ""  # then each figure has its own reason
    if load.wider and load.seconds >= seen.seconds:
        return ""
    longer, shorter = max(seen.seconds, load.seconds), min(seen.seconds, load.seconds)
    if longer - shorter <= MOST_APART * longer + _ROUNDING:
        return ""
    return (
        f"the counters are of {figure(float(seen.seconds))} s and the load's transactions of "
        f"{figure(float(load.seconds))} s, which differ by more than {MOST_APART:.0%}"
    )


def _sender(seen: Seen, load: LoadResult, scope: Scope) -> Figure:
    if scope.client_measured and not scope.server_measured:
        return seen.nic_cpu_percent
    return _of_processes(load.client_cpu_s, load, "client")


def _receiver(seen: Seen, load: LoadResult, scope: Scope) -> Figure:
    if scope.server_measured and not scope.client_measured:
        return seen.nic_cpu_percent
    return _of_processes(load.server_cpu_s, load, "server")


def _of_processes(cpu_s: float | None, load: LoadResult, who: str) -> Figure:
    """In percent of one CPU: it cannot tell the CPU's work for the NIC beside them."""
    if cpu_s is None or load.seconds <= 0:
        return f"the CPU time of the load's {who} is not known"
    return 100 * cpu_s / load.seconds


def _without_load(seen: Seen, load: LoadResult, scope: Scope) -> Figure:
    """CPU seconds a second of the measured side, less those of the load's processes that run there."""
    left = seen.busy_cpus
    for here, cpu_s, who in (
        (scope.client_measured, load.client_cpu_s, "client"),
        (scope.server_measured, load.server_cpu_s, "server"),
    ):
        share = times(_of_processes(cpu_s, load, who), 1 / 100)
        if not here or isinstance(left, str):
            continue
        if isinstance(share, str):
            return f"{share}, and it would be in it"
        left -= share
    if not isinstance(left, str) and left <= 0:
        return "the load's processes used all that the measured side's CPUs did: nothing is left to tell"
    return left


def _latency(load: LoadResult, percent: float) -> Figure:
    ns = percentile_ns(load.latency, percent) if load.latency is not None else None
    return times(known(ns, "the load measures no latency"), 1 / 1000)

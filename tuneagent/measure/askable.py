"""Which metric can decide a trial: told before its first round, so that nobody waits for what cannot come. Pure."""

from __future__ import annotations

from tuneagent.measure.metrics import OF_ANY_TRAFFIC
from tuneagent.measure.scope import Scope
from tuneagent.model import metrics as names
from tuneagent.model.load import LoadKind

VALUE = "value"
"""What a user's command prints, as a metric of a round."""
_WITHOUT_TRANSACTIONS = frozenset({LoadKind.COMMAND, LoadKind.IPERF3})
_OF_TRANSACTIONS = frozenset({names.TRANSACTIONS, names.EXITS_PER_TRANSACTION, names.CPU_PER_TRANSACTION})
_OF_LATENCY = frozenset({"latency_p50_us", "latency_p99_us"})
_FROM_OUTSIDE = frozenset(
    {
        "exits_per_sec",
        names.EXITS_PER_TRANSACTION,
        names.EXITS_PER_PACKET,
        "vhost_cpu_percent",
        "run_queue_wait_percent",
    }
)
"""A machine does not see these of itself."""

_OF_GUEST = frozenset(
    {"interrupts_per_sec", "interrupts_per_packet", "lock_waits_per_sec", "softnet_squeezes_per_sec", names.SEGMENTS}
)
"""Its hypervisor does not see these."""
_OF_INTERRUPTS = frozenset({"interrupts_per_sec", "interrupts_per_packet"})
_OF_NICS = frozenset({names.PACKETS, "interrupts_per_sec", "interrupts_per_packet", names.CPU_PER_PACKET, "drops"})


def never(metric: str, kind: LoadKind, scope: Scope) -> str:
    """Why no round of such a trial can have this metric; empty where one may."""
    if metric not in _named(kind):
        return f"no metric of such a trial; there are: {', '.join(sorted(_named(kind)))}"
    if metric in _FROM_OUTSIDE and scope.domain is None:
        return "only a hypervisor sees it of its virtual machines: try it there, with --domain NAME"
    if metric in _OF_GUEST and scope.domain is not None and not scope.guest:
        return "only the guest tells it, and it is not asked: that needs its agent, and no --no-guest-agent"
    if metric in _OF_INTERRUPTS and scope.domain is None and scope.nics and not scope.interrupts:
        return "the interface has no interrupts of its own: let --primary packets_per_sec decide, or bits_per_sec"
    of_nics = metric in _OF_NICS or (metric == names.BITS and kind is LoadKind.PASSIVE)
    if of_nics and scope.domain is None and not scope.nics:
        return "no virtio NIC here: name an interface by --on"
    return ""


def _named(kind: LoadKind) -> frozenset[str]:
    """What rounds under this kind of load may have."""
    if kind is LoadKind.PASSIVE:
        return OF_ANY_TRAFFIC
    told = frozenset(one.name for one in names.METRICS) - {*names.OF_PASSIVE, names.BITS}
    if kind not in _WITHOUT_TRANSACTIONS:
        return told
    return told - _OF_TRANSACTIONS - _OF_LATENCY | {VALUE if kind is LoadKind.COMMAND else names.BITS}

"""stacked-device-queues: a software device with one transmit queue lies above a device with several."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.wording import clean, counted
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "stacked-device-queues"
STACKED_KINDS = frozenset({"vlan", "bond", "bridge", "macvlan", "macvtap", "ipvlan", "team"})
LOCKLESS_QDISC = "noqueue"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a stacked device above a device with several transmit queues; one sample is enough."""
    stacked = [nic for nic in view.after.nics or () if nic.link is not None and nic.link.kind in STACKED_KINDS]
    return tuple(found for nic in stacked for found in _nic(view, nic))


def _nic(view: View, nic: Nic) -> tuple[Judgement, ...]:
    below = [(lower.name, _queues(lower)) for name in nic.lower if (lower := view.after.nic(name)) is not None]
    wide = [(name, queues) for name, queues in below if queues > 1]
    return (_judge(nic, *max(wide, key=lambda pair: pair[1])),) if wide else ()


def _queues(nic: Nic) -> int:
    """Transmit queues of a device; 0 where neither rtnetlink nor sysfs says."""
    told = nic.link.tx_queue_count if nic.link is not None else None
    if nic.channels is not None and nic.channels.pairs:
        return nic.channels.pairs
    return len(nic.tx_queues) or told or 0


def _judge(nic: Nic, lower: str, lower_queues: int) -> Judgement:
    queues = _queues(nic)
    qdisc = nic.link.qdisc if nic.link is not None else None
    evidence = (
        Evidence("tx_queues", queues, "queues", sources.transmit_queue(nic.name, "*", "")),
        Evidence("lower_tx_queues", lower_queues, "queues", sources.transmit_queue(lower, "*", "")),
        Evidence("qdisc", clean(qdisc) if qdisc is not None else None, "", sources.ROUTE_NETLINK),
    )
    if not queues:
        return Unjudged(NAME, nic.name, f"how many transmit queues {nic.name} has is not known")
    if queues > 1 or qdisc == LOCKLESS_QDISC:
        return Clear(NAME, nic.name, evidence)
    if qdisc is None:
        return Unjudged(NAME, nic.name, f"{nic.name} has one transmit queue; its queueing discipline is not known")
    return Finding(
        NAME,
        nic.name,
        Severity.INFO,
        f"{nic.name} has one transmit queue above {counted(lower_queues, 'queue')} of {lower}",
        f"{nic.name} ({nic.link.kind if nic.link is not None else 'stacked'}) has one transmit queue with the queueing "
        f"discipline {clean(qdisc)}: all CPUs take that queue's lock in turn before {lower} spreads their packets.",
        evidence,
    )

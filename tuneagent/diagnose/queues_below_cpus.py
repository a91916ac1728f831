"""queues-below-cpus: the device offers more queue pairs than are in use, and there are CPUs for them."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.queue_limits import evidence, offered_pairs
from tuneagent.diagnose.subjects import no_topology, online, single_cpu, virtio_nics
from tuneagent.diagnose.wording import counted
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.nic import Channels, Nic
from tuneagent.model.view import View

NAME = "queues-below-cpus"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC; nothing with one CPU."""
    return () if single_cpu(view) else tuple(_nic(view, nic) for nic in virtio_nics(view))


def _nic(view: View, nic: Nic) -> Judgement:
    cpus, offered = online(view), offered_pairs(view, nic)
    if cpus is None:
        return no_topology(NAME, nic.name)
    if nic.channels is not None and nic.channels.apart:
        return _apart(nic, nic.channels, cpus, _served(view, cpus))
    if offered is None:
        return Unjudged(NAME, nic.name, f"how many queues the device of {nic.name} offers is not known")
    if not nic.queue_pairs:
        return Unjudged(NAME, nic.name, f"how many queues {nic.name} uses is not known")
    served, facts = _served(view, cpus), evidence(nic, offered, len(cpus))
    wanted = min(len(served), offered)
    if nic.queue_pairs >= wanted:
        return Clear(NAME, nic.name, facts)
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING,
        f"{nic.name} uses {nic.queue_pairs} of {counted(wanted, 'possible queue')}",
        f"{counted(nic.queue_pairs, 'queue pair')} in use, {offered} offered by the device, {len(cpus)} CPUs online"
        f"{_apart_note(served, cpus)}: {wanted} could share the work.",
        facts,
    )


def _served(view: View, cpus: CpuSet) -> CpuSet:
    """CPUs that may take interrupts: a queue more for one that was set apart would disturb it."""
    return view.after.cpus.housekeeping if view.after.cpus is not None else cpus


def _apart_note(served: CpuSet, cpus: CpuSet) -> str:
    return f", {len(served)} of them not set apart" if len(served) < len(cpus) else ""


def _apart(nic: Nic, channels: Channels, cpus: CpuSet, served: CpuSet) -> Judgement:
    """A device whose receive and transmit queues are no pairs: each kind has its own number."""
    rx, rx_max, tx, tx_max = channels.rx, channels.rx_max, channels.tx, channels.tx_max
    if rx is None or rx_max is None or tx is None or tx_max is None:
        return Unjudged(NAME, nic.name, f"how many queues {nic.name} uses, and its device offers, is not known")
    values = {"rx_queues": rx, "rx_queues_offered": rx_max, "tx_queues": tx, "tx_queues_offered": tx_max}
    facts = (
        *(Evidence(name, value, "queues", sources.CHANNELS) for name, value in values.items()),
        Evidence("cpus_online", len(cpus), "CPUs", sources.ONLINE),
    )
    if rx >= min(rx_max, len(served)) and tx >= min(tx_max, len(served)):
        return Clear(NAME, nic.name, facts)
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING,
        f"{nic.name} uses {counted(rx, 'receive queue')} and {counted(tx, 'transmit queue')}, fewer than it could",
        f"{rx} of {counted(rx_max, 'receive queue')} and {tx} of {counted(tx_max, 'transmit queue')} that the device "
        f"offers are in use, {len(cpus)} CPUs online{_apart_note(served, cpus)}.",
        facts,
    )

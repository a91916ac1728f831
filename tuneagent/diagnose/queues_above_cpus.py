"""queues-above-cpus: more queue pairs are in use, or offered, than there are CPUs."""

from __future__ import annotations

from tuneagent.diagnose.queue_limits import evidence, offered_pairs
from tuneagent.diagnose.subjects import no_topology, online, virtio_nics
from tuneagent.diagnose.wording import counted
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "queues-above-cpus"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC: a warning for queues in use, a note for queues only offered."""
    return tuple(_nic(view, nic) for nic in virtio_nics(view))


def _nic(view: View, nic: Nic) -> Judgement:
    cpus, offered = online(view), offered_pairs(view, nic)
    if cpus is None:
        return no_topology(NAME, nic.name)
    facts = evidence(nic, offered, len(cpus))
    if nic.queue_pairs > len(cpus):
        return _used(nic, len(cpus), facts)
    if offered is None:
        return Unjudged(NAME, nic.name, f"how many queues the device of {nic.name} offers is not known")
    return _offered(nic, offered, len(cpus), facts) if offered > len(cpus) else Clear(NAME, nic.name, facts)


def _used(nic: Nic, cpus: int, facts: tuple[Evidence, ...]) -> Finding:
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING,
        f"{nic.name} uses {counted(nic.queue_pairs, 'queue')} on {counted(cpus, 'CPU')}",
        f"{nic.queue_pairs} queue pairs share {counted(cpus, 'CPU')}: traffic goes in smaller batches, with more "
        "interrupts and notifications for the same packets, and no CPU more works on it.",
        facts,
    )


def _offered(nic: Nic, offered: int, cpus: int, facts: tuple[Evidence, ...]) -> Finding:
    return Finding(
        NAME,
        nic.name,
        Severity.INFO,
        f"The device of {nic.name} offers {counted(offered, 'queue')} to {counted(cpus, 'CPU')}",
        f"{offered} queue pairs offered, {nic.queue_pairs} in use, {counted(cpus, 'CPU')} online: the others cost the "
        "host vectors and memory. Only the hypervisor's domain definition changes what is offered.",
        facts,
    )

"""rps-useless: receive packet steering is on where it can only cost."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.placement import landing
from tuneagent.diagnose.subjects import device_nics, no_topology
from tuneagent.diagnose.wording import cpu_list, named
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.irq import QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.topology import CpuTopology
from tuneagent.model.view import View

NAME = "rps-useless"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement an interface with a device; one sample is enough."""
    return tuple(_nic(view, nic) for nic in device_nics(view) if nic.rx_queues)


def _nic(view: View, nic: Nic) -> Judgement:
    masks = {queue.index: queue.rps_cpus for queue in nic.rx_queues if queue.rps_cpus is not None}
    if not masks:
        return Unjudged(NAME, nic.name, f"rps_cpus of {nic.name} could not be read")
    steered = {queue: mask for queue, mask in masks.items() if mask}
    if not steered:
        return Clear(NAME, nic.name, _evidence(nic, masks))
    cpus = view.after.cpus
    if cpus is None:
        return no_topology(NAME, nic.name)
    return _fault(view, nic, steered, cpus) or Clear(NAME, nic.name, _evidence(nic, steered))


def _fault(view: View, nic: Nic, steered: dict[int, CpuSet], cpus: CpuTopology) -> Finding | None:
    """The first fault in order of weight."""
    apart = (cpus.isolated | cpus.nohz_full) & cpus.online
    disturbed = CpuSet.of(cpu for mask in steered.values() for cpu in mask & apart)
    if disturbed:
        title = f"steers packets to {cpu_list(disturbed)}, set apart"
        why = f"RPS sends packets to {cpu_list(disturbed)}, which isolcpus or nohz_full set apart."
        return _found(nic, steered, Severity.WARNING, title, why)
    useless = _useless(view, nic, steered, cpus.online)
    return _found(nic, steered, Severity.INFO, *useless) if useless is not None else None


def _useless(view: View, nic: Nic, steered: dict[int, CpuSet], online: CpuSet) -> tuple[str, str] | None:
    """What is done for nothing, and why it is for nothing."""
    absent = CpuSet.of(cpu for mask in steered.values() for cpu in mask - online)
    same = [queue for queue, mask in steered.items() if _lands_there(view, nic, queue, mask)]
    if len(online) == 1:
        why = "There is one CPU, so every packet stays there and only pays for the hash and the backlog."
        return "steers packets on a machine with one CPU", why
    if absent:
        why = f"{cpu_list(absent)} in rps_cpus is not online; packets hashed there stay where they arrived."
        return f"steers packets to {cpu_list(absent)}, not online", why
    if same:
        why = f"The mask of {named(same, 'receive queue')} is only the CPU that its interrupt goes to."
        return "steers packets to the CPU that they arrive on", why
    if nic.queue_pairs >= len(online):
        spread = f"{nic.queue_pairs} queues spread packets over {cpu_list(online)} already"
        why = f"{spread}; RPS adds a hash and an interrupt between processors for each batch."
        return "steers packets although each CPU has a queue", why
    return None


def _lands_there(view: View, nic: Nic, queue: int, mask: CpuSet) -> bool:
    """Whether a mask of one CPU is the CPU of the queue's own interrupt."""
    own = [irq for irq in nic.irqs_of(QueueRole.INPUT) if irq.queue == queue]
    every = own or nic.irqs_of(QueueRole.SHARED_QUEUES, QueueRole.DEVICE)
    return len(mask) == 1 and any(landing(view, irq).home in tuple(mask) for irq in every)


def _found(nic: Nic, masks: dict[int, CpuSet], severity: Severity, title: str, why: str) -> Finding:
    queues = tuple(sorted(masks))
    return Finding(NAME, nic.name, severity, f"{nic.name} {title}", why, _evidence(nic, masks), queues=queues)


def _evidence(nic: Nic, masks: dict[int, CpuSet]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            f"rx{queue}_rps_cpus", str(mask) or "off", "CPU list", sources.receive_queue(nic.name, queue, "rps_cpus")
        )
        for queue, mask in sorted(masks.items())
    )

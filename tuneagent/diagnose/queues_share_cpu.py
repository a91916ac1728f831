"""queues-share-cpu: several queues are served by one CPU while another has none of them."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.placement import Landing, landings, receive_landings
from tuneagent.diagnose.subjects import data_irqs, measured, no_interrupts, no_topology, virtio_nics
from tuneagent.diagnose.wording import counted, cpu_list, named
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.irq import QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.topology import CpuTopology
from tuneagent.model.view import View

NAME = "queues-share-cpu"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC with several queue pairs; nothing where only one CPU may take interrupts.

    Nothing either of queues that share one vector, which can only be on one CPU: that is shared-vector's to tell.
    """
    nics = [nic for nic in virtio_nics(view) if nic.queue_pairs > 1 and not _one_vector(nic)]
    cpus = view.after.cpus
    if cpus is None:
        return tuple(no_topology(NAME, nic.name) for nic in nics)
    return tuple(_nic(view, nic, cpus) for nic in nics) if len(cpus.housekeeping) > 1 else ()


def _one_vector(nic: Nic) -> bool:
    return bool(nic.irqs_of(QueueRole.SHARED_QUEUES, QueueRole.DEVICE))


def _nic(view: View, nic: Nic, cpus: CpuTopology) -> Judgement:
    by_queue = receive_landings(view, nic)
    if not by_queue:
        return no_interrupts(NAME, nic)
    settled = {queue: item for queue, item in by_queue.items() if item.home is not None}
    if len(settled) <= 1:
        return Unjudged(
            NAME,
            nic.name,
            "where the interrupts go is not known: no effective affinity of one CPU, and "
            "too few interrupts or too many CPUs in the interval",
        )
    by_cpu = _by_cpu(settled)
    free = cpus.housekeeping - CpuSet.of(cpu for item in by_queue.values() for cpu in item.cpus) - _taken(view, nic)
    crowded = {cpu: queues for cpu, queues in by_cpu.items() if len(queues) > 1}
    if crowded and free:
        return _finding(view, nic, by_queue, crowded, free)
    return Clear(NAME, nic.name, _evidence(by_cpu, free))


def _by_cpu(settled: dict[int, Landing]) -> dict[int, list[int]]:
    by_cpu: dict[int, list[int]] = {}
    for queue, item in sorted(settled.items()):
        if item.home is not None:
            by_cpu.setdefault(item.home, []).append(queue)
    return by_cpu


def _taken(view: View, nic: Nic) -> CpuSet:
    """CPUs that serve busy queues of other NICs: somebody may have shared them out between the NICs."""
    others = [other for other in virtio_nics(view) if other.name != nic.name]
    landed = [item for other in others for item in landings(view, data_irqs(other)) if item.busy]
    return CpuSet.of(cpu for item in landed for cpu in item.cpus)


def _finding(
    view: View, nic: Nic, by_queue: dict[int, Landing], crowded: dict[int, list[int]], free: CpuSet
) -> Finding:
    queues = sorted(queue for together in crowded.values() for queue in together)
    idle = measured(view) and not any(by_queue[queue].busy for queue in queues)
    irqs = [irq.irq for queue in queues for irq in nic.pairs()[queue]]
    worst = max(crowded, key=lambda cpu: len(crowded[cpu]))
    return Finding(
        NAME,
        nic.name,
        Severity.INFO if idle else Severity.WARNING,
        f"{counted(len(crowded[worst]), 'queue')} of {nic.name} are served by CPU {worst}, none by {cpu_list(free)}",
        f"{named(crowded[worst], 'Queue')} of {nic.name} interrupt CPU {worst}, while no queue of it interrupts "
        f"{cpu_list(free)}; {'they were idle in the interval.' if idle else 'that CPU does the work of all of them.'}",
        _evidence(crowded, free),
        tuple(sorted(irqs)),
        tuple(queues),
        tuple(sorted(crowded)),
    )


def _evidence(by_cpu: dict[int, list[int]], free: CpuSet) -> tuple[Evidence, ...]:
    source = f"/proc/irq/<irq>/effective_affinity_list, else smp_affinity_list; {sources.INTERRUPTS}"
    counts = tuple(Evidence(f"cpu{cpu}_queues", len(queues), "queues", source) for cpu, queues in by_cpu.items())
    return (*counts, Evidence("cpus_without_queue", str(free), "CPU list", source))

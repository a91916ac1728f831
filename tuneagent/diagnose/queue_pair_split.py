"""queue-pair-split: receive and transmit interrupt of one queue pair go to different CPUs."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.placement import Landing, irqs_of, landings, queues_of
from tuneagent.diagnose.subjects import measured, no_interrupts, single_cpu, virtio_nics
from tuneagent.diagnose.wording import counted, named
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.irq import QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "queue-pair-split"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC with a vector for each queue; nothing with one CPU or shared vectors."""
    return () if single_cpu(view) else tuple(found for nic in virtio_nics(view) for found in _nic(view, nic))


def _nic(view: View, nic: Nic) -> tuple[Judgement, ...]:
    if nic.irqs_of(QueueRole.SHARED_QUEUES, QueueRole.DEVICE):
        return ()
    pairs = [landings(view, irqs) for irqs in nic.pairs_in_use().values() if len({irq.role for irq in irqs}) > 1]
    if not pairs:
        return (no_interrupts(NAME, nic),)
    settled = [pair for pair in pairs if all(item.home is not None for item in pair)]
    split = [pair for pair in settled if len({item.home for item in pair}) > 1]
    if split:
        return (_finding(view, nic, split),)
    if not settled:
        return (Unjudged(NAME, nic.name, "no queue pair has both interrupts on one known CPU each"),)
    return (Clear(NAME, nic.name, (Evidence("queue_pairs_on_one_cpu", len(settled), "queues", sources.INTERRUPTS),)),)


def _finding(view: View, nic: Nic, split: list[tuple[Landing, ...]]) -> Finding:
    every = tuple(item for pair in split for item in pair)
    working = any(all(item.busy for item in pair) for pair in split)
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING if working else Severity.INFO,
        f"{counted(len(split), 'queue pair')} of {nic.name} split over two CPUs",
        f"Receive and transmit interrupts of {named(queues_of(every), 'queue')} go to different CPUs; "
        f"{_cost(view, working=working)}",
        tuple(_place(item) for item in every),
        irqs_of(every),
        queues_of(every),
        tuple(sorted({item.home for item in every if item.home is not None})),
    )


def _cost(view: View, *, working: bool) -> str:
    if working:
        return "the pair's memory moves between the caches of both."
    if not measured(view):
        return "whether both are at work is not known, for nothing was measured over an interval."
    return "they were not both at work in the interval, so it cost little then."


def _place(item: Landing) -> Evidence:
    return Evidence(f"irq{item.irq.irq}_{item.irq.role}_{item.irq.queue}_cpu", item.home, "CPU", item.source)

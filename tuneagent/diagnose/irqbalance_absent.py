"""irqbalance-absent: nobody spreads interrupts, and busy queues crowd on one CPU while others idle."""

from __future__ import annotations

from tuneagent.diagnose import balancer, sources
from tuneagent.diagnose.placement import Landing, irqs_of, landings
from tuneagent.diagnose.subjects import (
    MACHINE,
    data_irqs,
    measured,
    no_rates,
    no_topology,
    quiet,
    single_cpu,
    virtio_nics,
)
from tuneagent.diagnose.thresholds import IDLE_CPU_PERCENT, MIN_INTERRUPTS
from tuneagent.diagnose.wording import counted, cpu_list, named
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.topology import CpuTopology
from tuneagent.model.view import View

NAME = "irqbalance-absent"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement of the machine; nothing with one CPU, where irqbalance ends at once, or without a virtio NIC."""
    return () if single_cpu(view) or not virtio_nics(view) else (_machine(view),)


def _machine(view: View) -> Judgement:
    runs = balancer.running(view)
    if runs is None:
        return Unjudged(NAME, MACHINE, "whether irqbalance runs is not known")
    state = Evidence("irqbalance", "running" if runs else "not running", "", sources.IRQBALANCE)
    if runs:
        return Clear(NAME, MACHINE, (state,))
    if view.after.cpus is None:
        return no_topology(NAME, MACHINE)
    if not measured(view):
        return no_rates(view, NAME, MACHINE)
    return _placed(view, view.after.cpus, state)


def _placed(view: View, cpus: CpuTopology, state: Evidence) -> Judgement:
    if not any(data_irqs(nic) for nic in virtio_nics(view)):
        return Unjudged(NAME, MACHINE, "no queue interrupt of a virtio NIC is known")
    busy = _busy(view)
    if not busy:
        return quiet(NAME, MACHINE, f"no queue of a virtio NIC had {MIN_INTERRUPTS} interrupts in the interval")
    used = CpuSet.of(cpu for items in busy.values() for item in items for cpu in item.cpus)
    idle = CpuSet.of(cpu for cpu in cpus.housekeeping - used if _idles(view, cpu))
    crowds = _crowds(busy)
    if crowds and idle:
        return _finding(crowds, idle, state)
    crowded = Evidence("cpus_with_several_busy_queues", str(CpuSet.of(crowds)), "CPU list", sources.INTERRUPTS)
    return Clear(NAME, MACHINE, (state, crowded))


def _busy(view: View) -> dict[tuple[str, int | None], list[Landing]]:
    """Busy queue interrupts by NIC and queue: receive and transmit of one pair belong on one CPU."""
    busy: dict[tuple[str, int | None], list[Landing]] = {}
    for nic in virtio_nics(view):
        for item in landings(view, data_irqs(nic)):
            if item.busy:
                busy.setdefault((nic.name, item.irq.queue), []).append(item)
    return busy


def _crowds(busy: dict[tuple[str, int | None], list[Landing]]) -> dict[int, list[Landing]]:
    """By CPU, the interrupts of the busy queues that are served there, where these are two queues or more."""
    homes = {item.home for items in busy.values() for item in items if item.home is not None}
    crowds: dict[int, list[Landing]] = {}
    for cpu in sorted(homes):
        here = [[item for item in items if item.home == cpu] for items in busy.values()]
        queues = [items for items in here if items]
        if len(queues) > 1:
            crowds[cpu] = [item for items in queues for item in items]
    return crowds


def _idles(view: View, cpu: int) -> bool:
    """A CPU without a busy queue idles unless its time in the interval says otherwise."""
    rate = view.cpus.get(cpu)
    return rate is None or rate.idle_percent is None or rate.idle_percent >= IDLE_CPU_PERCENT


def _finding(crowds: dict[int, list[Landing]], idle: CpuSet, state: Evidence) -> Finding:
    worst = max(crowds, key=lambda cpu: len(crowds[cpu]))
    every = tuple(item for items in crowds.values() for item in items)
    return Finding(
        NAME,
        MACHINE,
        Severity.WARNING,
        f"irqbalance does not run, and busy queues share CPU {worst}",
        f"{named(irqs_of(tuple(crowds[worst])), 'IRQ')} of busy queues fell on CPU {worst} while {cpu_list(idle)} had "
        "no busy queue; nothing spreads them.",
        (
            state,
            *(
                Evidence(f"cpu{cpu}_busy_queue_interrupts", counted(len(items), "interrupt"), "", sources.INTERRUPTS)
                for cpu, items in crowds.items()
            ),
            Evidence("idle_cpus", str(idle), "CPU list", f"{sources.INTERRUPTS}, {sources.CPU_TIMES}"),
        ),
        irqs_of(every),
        cpus=tuple(crowds),
    )

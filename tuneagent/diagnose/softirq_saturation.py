"""softirq-saturation: one CPU does nothing but softirqs while others are idle."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.placement import Landing, irqs_of, landings, queues_of
from tuneagent.diagnose.subjects import MACHINE, data_irqs, measured, no_rates, virtio_nics
from tuneagent.diagnose.thresholds import IDLE_CPU_PERCENT, MIN_TICKS, SOFTIRQ_BUSY_PERCENT, SOFTIRQ_SATURATED_PERCENT
from tuneagent.diagnose.wording import cpu_list, named
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import CpuRate, View

NAME = "softirq-saturation"


def judge(view: View) -> tuple[Judgement, ...]:
    """One finding a saturated CPU, or one judgement of the machine."""
    if not measured(view):
        return (no_rates(view, NAME, MACHINE),)
    known = {rate.cpu: rate.softirq_percent for rate in view.cpus.values() if rate.softirq_percent is not None}
    if not known:
        return (Unjudged(NAME, MACHINE, f"the softirq time of no CPU is known ({sources.CPU_TIMES})"),)
    full = [rate for rate in view.cpus.values() if known.get(rate.cpu, 0.0) >= SOFTIRQ_BUSY_PERCENT]
    sure = [rate for rate in full if rate.ticks is None or rate.ticks >= MIN_TICKS]
    if full and not sure:
        return (Unjudged(NAME, MACHINE, f"the interval is too short: under {MIN_TICKS} clock ticks a CPU"),)
    if sure:
        return tuple(_finding(view, rate) for rate in sorted(sure, key=lambda rate: rate.cpu))
    busiest = max(known, key=lambda cpu: known[cpu])
    return (Clear(NAME, MACHINE, _evidence(view.cpus.get(busiest), known[busiest])),)


def _finding(view: View, rate: CpuRate) -> Finding:
    share = rate.softirq_percent or 0.0
    idle = CpuSet.of(
        other.cpu
        for other in view.cpus.values()
        if other.cpu != rate.cpu and (other.idle_percent or 0.0) >= IDLE_CPU_PERCENT
    )
    lost = (rate.softnet_dropped_per_sec or 0.0) > 0.0
    here = _served(view, rate.cpu)
    return Finding(
        NAME,
        f"cpu{rate.cpu}",
        Severity.CRITICAL if share >= SOFTIRQ_SATURATED_PERCENT or lost else Severity.WARNING,
        f"CPU {rate.cpu} spends {figure(share)} % of its time in softirqs",
        f"Softirqs take {figure(share)} % of CPU {rate.cpu}; {_room(view, rate, idle)}{_causes(here)}",
        _evidence(rate, share),
        irqs_of(here),
        queues_of(here),
        (rate.cpu,),
    )


def _room(view: View, rate: CpuRate, idle: CpuSet) -> str:
    topology = view.after.cpus
    apart = topology.online - topology.housekeeping if topology is not None else CpuSet()
    if idle and not idle - apart:
        least = figure(IDLE_CPU_PERCENT)
        return f"only {cpu_list(idle)}, set apart by isolcpus or nohz_full, idle for at least {least} %."
    idle = idle - apart
    if idle:
        return f"{cpu_list(idle)} idle for at least {figure(IDLE_CPU_PERCENT)} %."
    return "it is the only CPU." if set(view.cpus) <= {rate.cpu} else "no other CPU is seen to have room."


def _causes(here: tuple[Landing, ...]) -> str:
    return f" {named(irqs_of(here), 'IRQ')} of a virtio NIC fell there." if here else ""


def _served(view: View, cpu: int) -> tuple[Landing, ...]:
    """Busy virtio NIC interrupts for which this is the CPU."""
    landed = (item for nic in virtio_nics(view) for item in landings(view, data_irqs(nic)))
    return tuple(item for item in landed if item.busy and item.home == cpu)


def _evidence(rate: CpuRate | None, share: float) -> tuple[Evidence, ...]:
    head = Evidence("softirq_percent", share, "%", sources.CPU_TIMES)
    if rate is None:
        return (head,)
    return (
        Evidence("cpu", rate.cpu, "", sources.CPU_TIMES),
        head,
        Evidence("clock_ticks", rate.ticks, "ticks", sources.CPU_TIMES),
        Evidence("softnet_processed_per_sec", rate.softnet_processed_per_sec, "1/s", sources.SOFTNET),
        Evidence("softnet_squeezed_per_sec", rate.softnet_squeezed_per_sec, "1/s", sources.SOFTNET),
        Evidence("softnet_dropped_per_sec", rate.softnet_dropped_per_sec, "1/s", sources.SOFTNET),
    )

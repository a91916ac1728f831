"""interrupts-on-isolated-cpus: queue interrupts disturb CPUs that were set apart."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.placement import Landing, irqs_of, landings, queues_of
from tuneagent.diagnose.subjects import data_irqs, no_interrupts, no_topology, virtio_nics
from tuneagent.diagnose.wording import cpu_list, named
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "interrupts-on-isolated-cpus"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC; nothing where no online CPU is isolated or nohz_full."""
    cpus = view.after.cpus
    if cpus is None:
        return tuple(no_topology(NAME, nic.name) for nic in virtio_nics(view))
    apart = (cpus.isolated | cpus.nohz_full) & cpus.online
    return tuple(_nic(view, nic, apart) for nic in virtio_nics(view)) if apart else ()


def _nic(view: View, nic: Nic, apart: CpuSet) -> Judgement:
    irqs = data_irqs(nic)
    if not irqs:
        return no_interrupts(NAME, nic)
    landed = landings(view, irqs)
    known = tuple(item for item in landed if item.cpus)
    touching = tuple(item for item in known if CpuSet.of(item.cpus) & apart)
    if touching:
        return _finding(view, nic, touching, apart)
    if len(known) < len(landed):
        blind = irqs_of(tuple(item for item in landed if not item.cpus))
        return Unjudged(NAME, nic.name, f"where {named(blind, 'IRQ')} goes is not known")
    place = CpuSet.of(cpu for item in known for cpu in item.cpus)
    return Clear(
        NAME, nic.name, (*_apart(apart), Evidence("queue_interrupt_cpus", str(place), "CPU list", sources.INTERRUPTS))
    )


def _apart(apart: CpuSet) -> tuple[Evidence, ...]:
    return (Evidence("cpus_set_apart", str(apart), "CPU list", sources.ISOLATED),)


def _finding(view: View, nic: Nic, touching: tuple[Landing, ...], apart: CpuSet) -> Finding:
    where = CpuSet.of(cpu for item in touching for cpu in item.cpus) & apart
    per_sec = _per_sec(view, touching, apart)
    fell = "" if per_sec is None else f", {figure(per_sec)} interrupts/s in the interval"
    return Finding(
        NAME,
        nic.name,
        Severity.INFO if per_sec == 0.0 else Severity.WARNING,
        f"Interrupts of {nic.name} go to {cpu_list(where)}, set apart by isolcpus or nohz_full",
        f"{named(irqs_of(touching), 'IRQ')} of {nic.name} go to {cpu_list(where)}{fell}; {cpu_list(apart)} were set "
        "apart to be left alone.",
        (
            *_apart(apart),
            Evidence("interrupts_per_sec_there", per_sec, "1/s", sources.INTERRUPTS),
            *(
                Evidence(
                    f"irq{item.irq.irq}_cpus",
                    str(CpuSet.of(item.cpus)),
                    "CPU list",
                    item.source,
                )
                for item in touching
            ),
        ),
        irqs_of(touching),
        queues_of(touching),
        tuple(where),
    )


def _per_sec(view: View, touching: tuple[Landing, ...], apart: CpuSet) -> float | None:
    """Interrupts a second on the CPUs set apart; None without rates."""
    rates = [rate for item in touching if (rate := view.rate_of(item.irq)) is not None and rate.seconds > 0]
    if not rates:
        return None
    return sum(count / rate.seconds for rate in rates for cpu, count in rate.per_cpu.items() if cpu in apart)

"""interrupt-storm: many interrupts and hardly a packet."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.subjects import no_rates, virtio_nics
from tuneagent.diagnose.thresholds import STORM_INTERRUPTS_PER_PACKET, STORM_INTERRUPTS_PER_SEC
from tuneagent.diagnose.wording import listed, named
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.irq import QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "interrupt-storm"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC. A low interrupt rate is well without any packet counter."""
    return tuple(_nic(view, nic) for nic in virtio_nics(view))


def _nic(view: View, nic: Nic) -> Judgement:
    rate = view.nics.get(nic.name)
    if view.before is None or rate is None:
        return no_rates(view, NAME, nic.name)
    interrupts, packets = rate.interrupts_per_sec, rate.packets_per_sec
    if interrupts is None:
        return Unjudged(NAME, nic.name, f"the interrupts of {nic.name} were not counted in both samples")
    evidence = (
        Evidence("interrupts_per_sec", interrupts, "1/s", sources.INTERRUPTS),
        Evidence("packets_per_sec", packets, "1/s", sources.statistics(nic.name)),
    )
    if interrupts < STORM_INTERRUPTS_PER_SEC:
        return Clear(NAME, nic.name, evidence)
    if packets is not None and interrupts <= packets * STORM_INTERRUPTS_PER_PACKET:
        return Clear(NAME, nic.name, evidence)
    doubt = _doubt(view, interrupts)
    if packets is None or doubt is not None:
        return Unjudged(NAME, nic.name, doubt or f"the packets of {nic.name} were not counted in both samples")
    return _finding(view, nic, interrupts, packets, evidence)


def _doubt(view: View, interrupts: float) -> str | None:
    """Why the interface's packet counters are not to be believed; None where nothing speaks against them."""
    processed = [rate.softnet_processed_per_sec for rate in view.cpus.values()]
    known = [rate for rate in processed if rate is not None]
    if not known:
        return "what the CPUs took from the network (softnet_stat) is not known, and may explain the interrupts"
    if interrupts <= sum(known) * STORM_INTERRUPTS_PER_PACKET:
        return f"the CPUs took {figure(sum(known))} packets/s from the network, which this interface did not count"
    if all(rate.ticks is None for rate in view.cpus.values()):
        return "the CPU times stood still as well: the counters are of one moment"
    return None


def _finding(view: View, nic: Nic, interrupts: float, packets: float, evidence: tuple[Evidence, ...]) -> Finding:
    fired = _fired(view, nic)
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING,
        f"{nic.name} takes {figure(interrupts)} interrupts/s for {figure(packets)} packets/s",
        f"{figure(interrupts)} interrupts/s against {figure(packets)} packets/s; a packet has two at most. "
        f"{_where(fired)}{_line(view, nic)}",
        evidence,
        fired,
    )


def _fired(view: View, nic: Nic) -> tuple[int, ...]:
    """The data interrupts that fired, busiest first."""
    # Of all queues, as the rate is: one that is switched off has no packets that would explain it.
    every = [irq for irq in nic.queue_irqs if irq.role is not QueueRole.CONFIG]
    rates = [rate for irq in every if (rate := view.rate_of(irq)) is not None and rate.count > 0]
    return tuple(rate.irq for rate in sorted(rates, key=lambda rate: -rate.count))


def _where(fired: tuple[int, ...]) -> str:
    return f"They fell on {named(fired, 'IRQ')}." if fired else "Which of its interrupts they are is not known."


def _line(view: View, nic: Nic) -> str:
    """Whose else a legacy line is."""
    lines = [view.after.irq(irq.irq) for irq in nic.irqs_of(QueueRole.DEVICE)]
    others = [name for line in lines if line is not None for name in line.actions if name != nic.virtio]
    return f" The line is shared with {listed(others)}, which may be the cause." if others else ""

"""halt-polling-absent: a guest that sleeps between packets is never polled for, on a host that has it switched off."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import exit_kinds, halt_polling, sources
from tuneagent.diagnose.domains import each, name_of, quiet, running
from tuneagent.diagnose.subjects import MACHINE
from tuneagent.diagnose.thresholds import HALTS_PER_PACKET, HALTS_PER_SEC, IDLE_CPU_PERCENT, MIN_PACKETS_PER_SEC
from tuneagent.model.domain_view import DomainView, KvmRate
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import View

NAME = "halt-polling-absent"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement of the machine where it polls; else one a virtual machine that runs."""
    if not running(view):
        return ()
    on = halt_polling.is_on(view)
    if on is None:
        return (Unjudged(NAME, MACHINE, f"{halt_polling.PARAMETER} is not known"),)
    if on:
        return (Clear(NAME, MACHINE, _parameters(view)),)
    return each(view, NAME, _domain)


def _domain(view: View, domain: DomainView) -> Iterable[Judgement]:
    rate, packets = domain.kvm, domain.packets_per_sec
    halts = exit_kinds.idle_per_sec(rate) if rate is not None else None
    if rate is None or halts is None:
        yield Unjudged(NAME, domain.subject, domain.kvm_reason or "halts are not told")
    elif packets is None:
        yield Unjudged(NAME, domain.subject, "the packets through the taps are not known")
    elif packets < MIN_PACKETS_PER_SEC:
        yield quiet(NAME, domain.subject, f"{figure(packets)} packets/s, needs {figure(MIN_PACKETS_PER_SEC)}")
    elif halts < HALTS_PER_SEC or halts / packets < HALTS_PER_PACKET:
        yield Clear(NAME, domain.subject, _evidence(view, rate, halts, packets))
    else:
        yield _finding(view, domain, halts, _evidence(view, rate, halts, packets))


def _finding(view: View, domain: DomainView, halts: float, facts: tuple[Evidence, ...]) -> Finding:
    idle = halt_polling.idle_percent(view)
    room = idle is not None and idle >= IDLE_CPU_PERCENT
    rest = (
        f"The host's CPUs idle for {figure(idle)} % on average, so there is time to poll."
        if room and idle is not None
        else "Whether the host has time to poll has to be weighed: polling takes CPU time that others could use."
    )
    return Finding(
        NAME,
        domain.subject,
        Severity.WARNING if room else Severity.INFO,
        f"{name_of(domain)} sleeps {figure(halts)} times/s between packets, and is never polled for",
        f"Each of {figure(halts)} halts/s ends in a wake-up of its vCPU thread, for which a packet waits. {rest}",
        facts,
    )


def _evidence(view: View, rate: KvmRate, halts: float, packets: float) -> tuple[Evidence, ...]:
    source = sources.kvm(rate.source)
    return (
        Evidence("halts_per_sec", halts, "1/s", source),
        Evidence("halts_per_packet", halts / packets, "", f"{source}; {sources.statistics('<tap>')}"),
        Evidence("host_idle_percent", halt_polling.idle_percent(view), "%", sources.CPU_TIMES),
        *_parameters(view),
    )


def _parameters(view: View) -> tuple[Evidence, ...]:
    host = view.after.hypervisor
    names = (halt_polling.PARAMETER, halt_polling.GROW)
    values = [(name, host.parameter(name) if host is not None else None) for name in names]
    return tuple(
        Evidence(name.partition(".")[2], value, "ns" if name == halt_polling.PARAMETER else "", _source(name))
        for name, value in values
        if value is not None
    )


def _source(name: str) -> str:
    return sources.module_parameter(name)

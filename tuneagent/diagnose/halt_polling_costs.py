"""halt-polling-costs: halted vCPUs are polled for in vain while others want the CPUs."""

from __future__ import annotations

from tuneagent.diagnose import halt_polling, sources
from tuneagent.diagnose.domains import running
from tuneagent.diagnose.subjects import MACHINE, measured, no_rates
from tuneagent.diagnose.thresholds import (
    BUSY_HOST_IDLE_PERCENT,
    HALT_POLL_FAIL_HOST_PERCENT,
    HALT_POLL_FAIL_VCPU_PERCENT,
    WAIT_PERCENT,
)
from tuneagent.diagnose.wording import clean, counted
from tuneagent.model.domain_view import DomainView
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import View

NAME = "halt-polling-costs"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement of the machine: the parameter is the module's, for all virtual machines alike."""
    domains = running(view)
    if not domains:
        return ()
    if not measured(view):
        return (no_rates(view, NAME, MACHINE),)
    told = [(wasted, domain) for domain in domains if (wasted := halt_polling.wasted_percent(domain)) is not None]
    if not told:
        reason = next((one.kvm_reason for one in domains if one.kvm_reason), "KVM tells no halt_poll_fail_ns")
        return (Unjudged(NAME, MACHINE, reason),)
    return (_judged(view, told),)


def _judged(view: View, told: list[tuple[float, DomainView]]) -> Judgement:
    total = sum(wasted for wasted, _ in told)
    cpus = len(view.after.cpus.online) if view.after.cpus is not None else 0
    of_host = total / cpus if cpus else 0.0
    worst = max((domain for _, domain in told), key=halt_polling.wasted_percent_of_a_vcpu)
    of_vcpu = halt_polling.wasted_percent_of_a_vcpu(worst)
    facts = _evidence(view, total, worst, of_vcpu)
    much = of_host >= HALT_POLL_FAIL_HOST_PERCENT or of_vcpu >= HALT_POLL_FAIL_VCPU_PERCENT
    if not much or not _wanted(view):
        return Clear(NAME, MACHINE, facts)
    return Finding(
        NAME,
        MACHINE,
        Severity.WARNING,
        f"Polling for halted vCPUs takes {figure(total)} % of a CPU in vain",
        f"vCPUs of {counted(len(told), 'virtual machine')} polled for {figure(total)} % of one CPU and then slept "
        f"after all, {clean(worst.name)} most for its size ({figure(of_vcpu)} % of a vCPU), while {_who(view)}.",
        facts,
    )


def _wanted(view: View) -> bool:
    """Whether somebody else wants the CPUs: time that nobody wants may be polled away."""
    idle, wait = halt_polling.idle_percent(view), halt_polling.longest_wait_percent(view)
    return (idle is not None and idle < BUSY_HOST_IDLE_PERCENT) or (wait or 0.0) >= WAIT_PERCENT


def _who(view: View) -> str:
    wait = halt_polling.longest_wait_percent(view)
    if wait is not None and wait >= WAIT_PERCENT:
        return f"a thread of a virtual machine waited for a CPU for {figure(wait)} % of the interval"
    return f"the host's CPUs idle for {figure(halt_polling.idle_percent(view) or 0.0)} % on average"


def _evidence(view: View, total: float, worst: DomainView, of_vcpu: float) -> tuple[Evidence, ...]:
    host = view.after.hypervisor
    source = sources.kvm(worst.kvm.source) if worst.kvm is not None else "KVM"
    most = host.parameter(halt_polling.PARAMETER) if host is not None else None
    return (
        Evidence("halt_poll_fail_percent_of_a_cpu", total, "%", source),
        Evidence("largest_halt_poll_fail_percent_of_a_vcpu", of_vcpu, "%", source),
        Evidence("halt_poll_ns", most, "ns", sources.module_parameter(halt_polling.PARAMETER)),
        Evidence("host_idle_percent", halt_polling.idle_percent(view), "%", sources.CPU_TIMES),
        Evidence("longest_wait_percent", halt_polling.longest_wait_percent(view), "%", sources.THREAD_TIME),
    )

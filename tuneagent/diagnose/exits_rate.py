"""exits-rate: a vCPU leaves its guest very often."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import exit_kinds, sources
from tuneagent.diagnose.domains import each, name_of, running, vcpus
from tuneagent.diagnose.thresholds import EXITS_PER_SEC_PER_VCPU
from tuneagent.diagnose.wording import counted
from tuneagent.model.domain_view import TOGETHER, DomainView, KvmRate
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import View

NAME = "exits-rate"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtual machine that runs, from KVM's counters: of its busiest vCPU where each is told."""
    if running(view) or view.hypervisor is None:
        return each(view, NAME, _domain)
    # What a kernel counts of all virtual machines together is nobody's in particular.
    together = (one for one in view.hypervisor.domains if one.key == TOGETHER)
    return tuple(Unjudged(NAME, one.subject, "the exits of all virtual machines are told together") for one in together)


def _domain(_: View, domain: DomainView) -> Iterable[Judgement]:
    rate = domain.kvm
    if rate is None or rate.exits_per_sec is None:
        yield Unjudged(NAME, domain.subject, domain.kvm_reason or "VM exits are not told")
        return
    count = vcpus(domain)
    # No vCPU can have more than all together: those of a quiet machine are not looked at.
    high = _busiest(rate, count) if rate.exits_per_sec >= EXITS_PER_SEC_PER_VCPU else None
    if high is not None and high[1] >= EXITS_PER_SEC_PER_VCPU:
        yield _finding(domain, rate, high, count)
        return
    head = () if high is None else (_head(rate, high[1]),)
    yield Clear(NAME, domain.subject, (*head, *exit_kinds.evidence(rate, 2)))


def _busiest(rate: KvmRate, count: int | None) -> tuple[int | None, float]:
    """(vCPU, its exits a second); without its number an average, or all where the number of vCPUs is not known."""
    told = [(counters["exits"], vcpu) for vcpu, counters in rate.vcpus.items() if "exits" in counters]
    if not told:
        return None, (rate.exits_per_sec or 0.0) / (count or 1)
    exits, vcpu = max(told)
    return vcpu, exits


def _head(rate: KvmRate, busiest: float) -> Evidence:
    return Evidence("exits_per_sec_per_vcpu", busiest, "1/s", sources.kvm(rate.source))


def _finding(domain: DomainView, rate: KvmRate, busiest: tuple[int | None, float], count: int | None) -> Finding:
    vcpu, exits = busiest
    who = f"vCPU {vcpu} of {name_of(domain)}" if vcpu is not None else name_of(domain)
    each_of = "" if vcpu is not None or count == 1 else " for each vCPU" if count else ""
    return Finding(
        NAME,
        domain.subject,
        Severity.INFO if vcpu is None and count is None else Severity.WARNING,
        f"{who} leaves the guest {figure(exits)} times/s{each_of}",
        f"{figure(rate.exits_per_sec or 0.0)} VM exits/s over {_all(count)}. {exit_kinds.described(rate)}".rstrip(),
        (
            _head(rate, exits),
            Evidence("vcpus", count, "vCPUs", sources.DEFINITION if domain.definition else sources.kvm(rate.source)),
            *exit_kinds.evidence(rate),
        ),
    )


def _all(count: int | None) -> str:
    return "all vCPUs, whose number is not known" if count is None else counted(count, "vCPU")

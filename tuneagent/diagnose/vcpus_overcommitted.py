"""vcpus-overcommitted: vCPUs that could run wait for a CPU of the host."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import sources
from tuneagent.diagnose.domains import each, name_of, running, vcpus
from tuneagent.diagnose.subjects import online
from tuneagent.diagnose.thresholds import MIN_TICKS, WAIT_PERCENT
from tuneagent.diagnose.wording import cpu_list
from tuneagent.model.domain_view import DomainView, ThreadRate
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import CpuRate, View

NAME = "vcpus-overcommitted"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtual machine, by the waiting of its vCPU threads and, where it was seen, its stolen time.

    More vCPUs than CPUs is evidence and no fault: it is well as long as they do not want to run at the same time.
    """
    commitment = _commitment(view)
    return each(view, NAME, lambda _, domain: _domain(domain, commitment))


def _commitment(view: View) -> tuple[Evidence, ...]:
    cpus = online(view)
    counts = [vcpus(domain) for domain in running(view)]
    return (
        Evidence("vcpus_of_all_domains", sum(count or 0 for count in counts), "vCPUs", sources.DEFINITION),
        Evidence("cpus_online", len(cpus) if cpus is not None else None, "CPUs", sources.ONLINE),
    )


def _domain(domain: DomainView, commitment: tuple[Evidence, ...]) -> Iterable[Judgement]:
    timed = [one for one in domain.of_role(ThreadRole.VCPU) if one.wait_percent is not None]
    steal = _steal(domain)
    if not timed and steal is None:
        reason = "the vCPU threads were not read in both samples"
        yield Unjudged(NAME, domain.subject, reason)
        return
    worst = max(timed, key=lambda one: one.wait_percent or 0.0, default=None)
    wait = (worst.wait_percent or 0.0) if worst is not None else 0.0
    stolen = (steal.steal_percent or 0.0) if steal is not None else 0.0
    facts = (*_evidence(worst, steal), *commitment)
    if max(wait, stolen) < WAIT_PERCENT:
        yield Clear(NAME, domain.subject, facts)
    else:
        late = [one for one in timed if (one.wait_percent or 0.0) >= WAIT_PERCENT]
        yield _finding(domain, late, steal if stolen >= WAIT_PERCENT else None, facts)


def _steal(domain: DomainView) -> CpuRate | None:
    """The CPU of the guest from which most was stolen, by the guest itself."""
    view = domain.guest.view if domain.guest is not None else None
    told = [
        rate
        for rate in (view.cpus.values() if view is not None else ())
        if rate.steal_percent is not None and (rate.ticks is None or rate.ticks >= MIN_TICKS)
    ]
    return max(told, key=lambda rate: rate.steal_percent or 0.0, default=None)


def _finding(domain: DomainView, late: list[ThreadRate], steal: CpuRate | None, facts: tuple[Evidence, ...]) -> Finding:
    worst = max((one.wait_percent or 0.0 for one in late), default=0.0)
    seen = [f"{_who(late)} could run and had no CPU for up to {figure(worst)} % of the interval."] if late else []
    if steal is not None:
        seen.append(f"The guest says that {figure(steal.steal_percent or 0.0)} % of its CPU {steal.cpu} was stolen.")
    return Finding(
        NAME,
        domain.subject,
        Severity.WARNING,
        f"vCPUs of {name_of(domain)} wait for a CPU of the host",
        " ".join(seen) + _where(late),
        facts,
        cpus=tuple(sorted({one.thread.cpu for one in late if one.thread.cpu is not None})),
    )


def _who(late: list[ThreadRate]) -> str:
    numbers = sorted(one.thread.index for one in late if one.thread.index is not None)
    return cpu_list(numbers).replace("CPU", "vCPU") if numbers else "Its vCPUs"


def _where(late: list[ThreadRate]) -> str:
    cpus = {one.thread.cpu for one in late if one.thread.cpu is not None}
    return f" They ran last on the host's {cpu_list(cpus)}." if cpus else ""


def _evidence(worst: ThreadRate | None, steal: CpuRate | None) -> tuple[Evidence, ...]:
    wait = None if worst is None else worst.wait_percent
    run = None if worst is None else worst.cpu_percent
    return (
        Evidence("longest_vcpu_wait_percent", wait, "%", sources.THREAD_TIME),
        Evidence("its_cpu_percent", run, "%", sources.THREAD_TIME),
        *(
            ()
            if steal is None
            else (Evidence("guest_steal_percent", steal.steal_percent, "%", f"the guest's {sources.CPU_TIMES}"),)
        ),
    )

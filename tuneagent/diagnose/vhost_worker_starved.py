"""vhost-worker-starved: a vhost worker waits for a CPU, or has used up the one that it can have."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import sources
from tuneagent.diagnose.domains import each, name_of
from tuneagent.diagnose.thresholds import (
    DROPS_PER_SEC,
    MIN_PACKETS_PER_SEC,
    WAIT_PERCENT,
    WORKER_AT_WORK_PERCENT,
    WORKER_SATURATED_PERCENT,
)
from tuneagent.diagnose.vhost_worker_placement import UNKNOWN_QUEUE, reach
from tuneagent.diagnose.wording import counted
from tuneagent.model.domain_view import DomainView, ThreadRate
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View

NAME = "vhost-worker-starved"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtual machine with vhost workers, from the scheduler's times of its threads."""
    return each(view, NAME, _domain)


def _domain(_: View, domain: DomainView) -> Iterable[Judgement]:
    workers = domain.of_role(ThreadRole.VHOST)
    if not workers:
        return
    timed = [one for one in workers if one.cpu_percent is not None]
    if not timed:
        yield Unjudged(NAME, domain.subject, "the times of the vhost workers were not read in both samples")
        return
    full = [one for one in timed if (one.cpu_percent or 0.0) >= WORKER_SATURATED_PERCENT]
    late = [one for one in timed if _late(one)]
    if full:
        yield _saturated(domain, full, timed)
    elif late:
        yield _waiting(domain, late, timed)
    else:
        yield Clear(NAME, domain.subject, _evidence(domain, timed))


def _late(worker: ThreadRate) -> bool:
    """Waits much, and for work that is more than now and then."""
    run, wait = worker.cpu_percent or 0.0, worker.wait_percent or 0.0
    return wait >= WAIT_PERCENT and run + wait >= WORKER_AT_WORK_PERCENT


def _saturated(domain: DomainView, full: list[ThreadRate], timed: list[ThreadRate]) -> Finding:
    packets = domain.packets_per_sec
    polls = packets is not None and packets < MIN_PACKETS_PER_SEC
    lost = any((tap.to_guest_drops_per_sec or 0.0) >= DROPS_PER_SEC for tap in domain.taps)
    severity = Severity.INFO if polls else Severity.CRITICAL if lost else Severity.WARNING
    why = (
        "There are hardly any packets: it polls (poll-us of QEMU's tap), which costs a CPU and is somebody's choice."
        if polls
        else f"A worker is one thread: the queue pairs that it serves get no faster than this. {UNKNOWN_QUEUE}"
    )
    return Finding(
        NAME,
        domain.subject,
        severity,
        f"{counted(len(full), 'vhost worker')} of {name_of(domain)} {'fills' if len(full) == 1 else 'fill'} a CPU",
        f"{figure(max(one.cpu_percent or 0.0 for one in full))} % of a CPU, where 100 % is all that there is. {why}",
        _evidence(domain, timed),
    )


def _waiting(domain: DomainView, late: list[ThreadRate], timed: list[ThreadRate]) -> Finding:
    worst = max(late, key=lambda one: one.wait_percent or 0.0)
    return Finding(
        NAME,
        domain.subject,
        Severity.WARNING,
        f"{counted(len(late), 'vhost worker')} of {name_of(domain)} {'waits' if len(late) == 1 else 'wait'} for a CPU",
        f"Thread {worst.thread.tid} was ready to run and had no CPU for {figure(worst.wait_percent or 0.0)} % of the "
        f"interval, and ran for {figure(worst.cpu_percent or 0.0)} %. Packets wait as long. "
        f"{UNKNOWN_QUEUE} {reach(late)}",
        _evidence(domain, timed),
    )


def _evidence(domain: DomainView, workers: list[ThreadRate]) -> tuple[Evidence, ...]:
    waits = [one.wait_percent for one in workers if one.wait_percent is not None]
    return (
        Evidence("vhost_workers", len(workers), "threads", sources.THREAD_PLACE),
        Evidence("busiest_worker_percent", max(one.cpu_percent or 0.0 for one in workers), "%", sources.THREAD_TIME),
        Evidence("longest_wait_percent", max(waits, default=None), "%", sources.THREAD_TIME),
        Evidence("packets_per_sec", domain.packets_per_sec, "1/s", sources.statistics("<tap>")),
    )

"""vhost-worker-placement: a vhost worker shares the CPU of a busy vCPU, or is on another NUMA node than its memory."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import sources
from tuneagent.diagnose.domains import each, name_of
from tuneagent.diagnose.subjects import measured
from tuneagent.diagnose.thresholds import WORKER_AT_WORK_PERCENT
from tuneagent.diagnose.wording import counted, named
from tuneagent.diagnose.worker_places import Held, busy_vcpus, is_away, memory_cpus, nic_cpus, shared_cpu
from tuneagent.model.domain_view import DomainView, ThreadRate
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View

NAME = "vhost-worker-placement"
UNKNOWN_QUEUE = "Which queue, or NIC, a worker serves is not told by the kernel."


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtual machine with vhost workers: those at work, and where they are bound to be."""
    held = busy_vcpus(view)
    return each(view, NAME, lambda view, domain: _domain(view, domain, held), rates=False)


def _domain(view: View, domain: DomainView, held: Held) -> Iterable[Judgement]:
    workers = domain.of_role(ThreadRole.VHOST)
    if not workers:
        return
    timed = [one for one in workers if one.cpu_percent is not None]
    at_work = [one for one in timed if (one.cpu_percent or 0.0) >= WORKER_AT_WORK_PERCENT]
    if measured(view) and timed and not at_work:
        yield Clear(NAME, domain.subject, _evidence(timed))
        return
    looked_at = at_work or list(workers)
    shared = [(one, cpu) for one in at_work if (cpu := shared_cpu(one, held)) is not None]
    if shared:
        yield _shares(domain, shared, held)
    elif (far := _far(view, domain, looked_at)) is not None:
        yield far
    elif timed:
        yield Clear(NAME, domain.subject, _evidence(looked_at))
    else:
        reason = view.rates_reason or "how busy the vhost workers are is not known"
        yield Unjudged(NAME, domain.subject, reason)


def _shares(domain: DomainView, shared: list[tuple[ThreadRate, int]], held: Held) -> Finding:
    cpus = sorted({cpu for _, cpu in shared})
    workers = [one for one, _ in shared]
    first = cpus[0]
    only = all(one.thread.affinity is not None and one.thread.affinity <= held.cpus for one in workers)
    how = "may run only on CPUs of busy vCPUs" if only else "stayed on the CPU of a busy vCPU"
    return Finding(
        NAME,
        domain.subject,
        Severity.WARNING,
        f"{counted(len(workers), 'vhost worker')} of {name_of(domain)} and a busy vCPU share {named(cpus, 'CPU')}",
        f"{named([one.thread.tid for one in workers], 'Thread')} {how}: CPU {first} is that of "
        f"{held.holder(first)}. One waits while the other runs. {UNKNOWN_QUEUE} {reach(workers)}",
        _evidence(workers),
        cpus=tuple(cpus),
    )


def _far(view: View, domain: DomainView, workers: list[ThreadRate]) -> Finding | None:
    memory = memory_cpus(view, domain)
    near, what = (memory, "memory") if memory is not None else (nic_cpus(view, domain), "host NIC")
    away = [one for one in workers if is_away(one, near)]
    if near is None or not away:
        return None
    source = sources.DEFINITION if memory is not None else "/sys/class/net/<nic>/device/numa_node"
    return Finding(
        NAME,
        domain.subject,
        Severity.WARNING if memory is not None and any(one.cpu_percent is not None for one in away) else Severity.INFO,
        f"{counted(len(away), 'vhost worker')} of {name_of(domain)} on another NUMA node than its {what}",
        f"Its {what} is near CPUs {near}; {named([one.thread.tid for one in away], 'thread')} ran or may run elsewhere "
        f"only, so each packet crosses nodes. {UNKNOWN_QUEUE} {reach(away)}",
        (*_evidence(away), Evidence("near_cpus", str(near), "CPU list", f"{source}; {sources.NODES}")),
    )


def reach(workers: list[ThreadRate]) -> str:
    """Whether the definition's emulatorpin moves these workers.

    A thread of the kernel is none of QEMU's, and joins the control groups of its owner
    (``cgroup_attach_task_all()``): seen on Debian 12's 6.1 with cgroup v2, in ``…/libvirt/emulator``.
    """
    if any(one.thread.kernel_thread for one in workers):
        return (
            "They are threads of the kernel (before Linux 6.4): emulatorpin moves them where they are in QEMU's "
            "control group, their affinity always."
        )
    return "They are threads of QEMU (since Linux 6.4): emulatorpin moves them, all together with its other threads."


def _evidence(workers: list[ThreadRate]) -> tuple[Evidence, ...]:
    first = max(workers, key=lambda one: one.cpu_percent or 0.0)
    thread = first.thread
    return (
        Evidence("busiest_worker_percent", first.cpu_percent, "%", sources.THREAD_TIME),
        Evidence("busiest_worker_tid", str(thread.tid), "", sources.THREAD_PLACE),
        Evidence("busiest_worker_cpu", None if thread.cpu is None else str(thread.cpu), "CPU", sources.THREAD_PLACE),
        Evidence(
            "busiest_worker_may_run_on",
            None if thread.affinity is None else str(thread.affinity),
            "CPU list",
            sources.THREAD_PLACE,
        ),
        Evidence(
            "emulatorpin_reaches_it",
            "by QEMU's control group" if thread.kernel_thread else "yes",
            "",
            sources.THREAD_PLACE,
        ),
    )

"""emulator-unpinned: every vCPU has its CPU, and QEMU's other threads may take it."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import sources
from tuneagent.diagnose.domains import each, name_of
from tuneagent.diagnose.subjects import online
from tuneagent.diagnose.thresholds import WORKER_AT_WORK_PERCENT
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import Domain
from tuneagent.model.domain_view import DomainView, ThreadRate
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View

NAME = "emulator-unpinned"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtual machine all of whose vCPUs are pinned; one sample is enough."""
    return each(view, NAME, _domain, rates=False)


def _domain(view: View, domain: DomainView) -> Iterable[Judgement]:
    definition = domain.definition
    if definition is None:
        return
    pins = pinned_to(definition, online(view))
    if pins is None:
        return
    emulator = _emulator(domain)
    may = _may_run_on(definition, emulator)
    facts = _evidence(definition, pins, emulator, may)
    if definition.emulator_pin is not None or (may is not None and not may & pins):
        yield Clear(NAME, domain.subject, facts)
    else:
        yield _finding(domain, definition, pins, facts)


def pinned_to(definition: Domain, cpus: CpuSet | None) -> CpuSet | None:
    """All host CPUs of its vCPU pins; None unless each vCPU has one, and they leave a CPU to others."""
    if not definition.vcpus or not _all_pinned(definition):
        return None
    every = CpuSet()
    for pin in definition.vcpu_pins.values():
        every |= pin
    return None if cpus is not None and cpus <= every else every


def _all_pinned(definition: Domain) -> bool:
    numbers = definition.vcpu_numbers or range(definition.vcpus or 0)
    return all(vcpu in definition.vcpu_pins for vcpu in numbers)


def _emulator(domain: DomainView) -> ThreadRate | None:
    return next(iter(domain.of_role(ThreadRole.EMULATOR)), None)


def _may_run_on(definition: Domain, emulator: ThreadRate | None) -> CpuSet | None:
    """What the thread itself says, else the definition: without a pin libvirt gives it the cpuset of <vcpu>."""
    if emulator is not None and emulator.thread.affinity is not None:
        return emulator.thread.affinity
    return definition.emulator_pin or definition.vcpu_cpus


def _others_percent(domain: DomainView) -> float | None:
    """CPU time of QEMU's main thread and of the workers that are its threads; None where none is known."""
    shares = [
        one.cpu_percent
        for one in domain.threads
        if one.thread.role is not ThreadRole.VCPU and not one.thread.kernel_thread and one.cpu_percent is not None
    ]
    return sum(shares) if shares else None


def _finding(domain: DomainView, definition: Domain, pins: CpuSet, facts: tuple[Evidence, ...]) -> Finding:
    share = _others_percent(domain)
    busy = (share or 0.0) >= WORKER_AT_WORK_PERCENT
    where = "on any CPU" if definition.vcpu_cpus is None else f"on CPUs {definition.vcpu_cpus} (cpuset of <vcpu>)"
    load = "" if share is None else f" They use {figure(share)} % of a CPU."
    return Finding(
        NAME,
        domain.subject,
        Severity.WARNING if busy else Severity.INFO,
        f"The vCPUs of {name_of(domain)} are pinned, its emulator is not",
        f"The vCPUs have CPUs {pins}; QEMU's other threads, and since Linux 6.4 the vhost workers, may run {where}, so "
        f"also on those of the vCPUs.{load}",
        (*facts, Evidence("other_threads_percent", share, "%", sources.THREAD_TIME)),
    )


def _evidence(
    definition: Domain, pins: CpuSet, emulator: ThreadRate | None, may: CpuSet | None
) -> tuple[Evidence, ...]:
    source = sources.THREAD_PLACE if emulator is not None else sources.DEFINITION
    pin = definition.emulator_pin
    return (
        Evidence("vcpu_pins", str(pins), "CPU list", sources.DEFINITION),
        Evidence("emulatorpin", "not set" if pin is None else str(pin), "CPU list", sources.DEFINITION),
        Evidence("emulator_may_run_on", None if may is None else str(may), "CPU list", source),
    )

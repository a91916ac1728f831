"""domain-queues-below-vcpus: an interface has fewer queue pairs than its virtual machine has vCPUs."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import sources
from tuneagent.diagnose.domain_queues import Queues, evidence, later, queues_of
from tuneagent.diagnose.domains import each, interface_name, interfaces, packets
from tuneagent.diagnose.thresholds import SOFTIRQ_BUSY_PERCENT, VCPUS_PER_LONE_QUEUE
from tuneagent.diagnose.wording import counted
from tuneagent.model.domain import Backend, Domain, DomainInterface
from tuneagent.model.domain_view import DomainView
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View

NAME = "domain-queues-below-vcpus"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio interface; a warning where one worker or one vCPU is seen to be the limit."""
    return each(view, NAME, _domain, rates=False)


def _domain(_: View, domain: DomainView) -> Iterable[Judgement]:
    return interfaces(domain, lambda definition, interface: _interface(domain, definition, interface))


def _interface(domain: DomainView, definition: Domain, interface: DomainInterface) -> Judgement | None:
    queues = queues_of(domain, definition, interface)
    if queues is None:
        return None
    if queues.vcpus is None:
        return Unjudged(NAME, domain.subject_of(interface), "the number of vCPUs is not known")
    facts = evidence(queues, interface.target)
    full = _full(domain, interface) if queues.configured < queues.vcpus else ()
    lone = queues.configured == 1 and queues.vcpus >= VCPUS_PER_LONE_QUEUE
    if not full and not lone:
        return Clear(NAME, domain.subject_of(interface), facts)
    return _finding(domain, interface, queues, (*full, *facts))


def _full(domain: DomainView, interface: DomainInterface) -> tuple[Evidence, ...]:
    """The worker, or the guest's CPU, that has hardly any room left; whose worker is whose is not told."""
    found = []
    if interface.backend is Backend.VHOST and _carries_most(domain, interface):
        worker = max((one.cpu_percent or 0.0 for one in domain.of_role(ThreadRole.VHOST)), default=0.0)
        if worker >= SOFTIRQ_BUSY_PERCENT:
            found.append(Evidence("busiest_vhost_worker_percent", worker, "%", sources.THREAD_TIME))
    view = domain.guest.view if domain.guest is not None else None
    softirq = max((one.softirq_percent or 0.0 for one in view.cpus.values()), default=0.0) if view is not None else 0.0
    if softirq >= SOFTIRQ_BUSY_PERCENT:
        found.append(Evidence("busiest_guest_cpu_softirq_percent", softirq, "%", f"the guest's {sources.CPU_TIMES}"))
    return tuple(found)


def _carries_most(domain: DomainView, interface: DomainInterface) -> bool:
    own, every = packets(domain.tap_of(interface)), domain.packets_per_sec
    return own is not None and every is not None and own > 0 and own >= every / 2


def _finding(domain: DomainView, interface: DomainInterface, queues: Queues, facts: tuple[Evidence, ...]) -> Finding:
    full = [item for item in facts if item.metric.startswith("busiest_")]
    load = "".join(f" {_words(item)}" for item in full)
    return Finding(
        NAME,
        domain.subject_of(interface),
        Severity.WARNING if full else Severity.INFO,
        f"{interface_name(domain, interface)} has {counted(queues.configured, 'queue pair')} for "
        f"{counted(queues.vcpus or 0, 'vCPU')}",
        f"Each queue pair has one worker in the host and one vCPU at a time in the guest.{load}{later(queues)}",
        facts,
    )


def _words(item: Evidence) -> str:
    share = figure(item.value) if isinstance(item.value, int | float) else "?"
    if "worker" in item.metric:
        return f"The busiest vhost worker takes {share} % of a CPU."
    return f"One CPU of the guest spends {share} % in softirqs."

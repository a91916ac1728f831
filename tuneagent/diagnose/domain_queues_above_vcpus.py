"""domain-queues-above-vcpus: an interface has more queue pairs than its virtual machine can have vCPUs."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose.domain_queues import evidence, later, queues_of
from tuneagent.diagnose.domains import each, interface_name, interfaces
from tuneagent.diagnose.wording import counted
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Clear, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import View

NAME = "domain-queues-above-vcpus"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio interface, from the definition alone. Queues for vCPUs that can be plugged in are well."""
    return each(view, NAME, _domain, rates=False)


def _domain(_: View, domain: DomainView) -> Iterable[Judgement]:
    return interfaces(domain, lambda definition, interface: _interface(domain, definition, interface))


def _interface(domain: DomainView, definition: Domain, interface: DomainInterface) -> Judgement | None:
    queues = queues_of(domain, definition, interface)
    if queues is None:
        return None
    subject = domain.subject_of(interface)
    most = max(definition.vcpus or 0, definition.vcpus_max or 0)
    if not most:
        return Unjudged(NAME, subject, "the number of vCPUs is not known")
    facts = evidence(queues, interface.target)
    if queues.configured <= most:
        return Clear(NAME, subject, facts)
    return Finding(
        NAME,
        subject,
        Severity.INFO,
        f"{interface_name(domain, interface)} has {counted(queues.configured, 'queue pair')} for "
        f"{counted(most, 'vCPU')}",
        f"The guest's driver uses no more queues than it has CPUs: {queues.configured - most} of them are never used. "
        f"Each costs the host a vhost worker, descriptors and the guest interrupt vectors.{later(queues)}",
        facts,
    )

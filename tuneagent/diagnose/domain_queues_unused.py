"""domain-queues-unused: an interface works with fewer queue pairs than its definition gives it."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose.domain_queues import Queues, evidence, later, queues_of
from tuneagent.diagnose.domains import each, interface_name, interfaces
from tuneagent.diagnose.wording import counted
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Clear, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import View

NAME = "domain-queues-unused"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio interface that has, or is to have, several queue pairs; one sample is enough."""
    return each(view, NAME, _domain, rates=False)


def _domain(_: View, domain: DomainView) -> Iterable[Judgement]:
    return interfaces(domain, lambda definition, interface: _interface(domain, definition, interface))


def _interface(domain: DomainView, definition: Domain, interface: DomainInterface) -> Judgement | None:
    queues = queues_of(domain, definition, interface)
    if queues is None or (queues.configured == 1 and queues.stored is None):
        return None
    if queues.limit < queues.configured:
        return _not_effective(domain, interface, queues)
    if queues.configured > 1 and queues.in_use is not None and queues.in_use < _wanted(queues):
        return _left(domain, interface, queues, queues.in_use)
    if queues.stored is not None:
        return _pending(domain, interface, queues)
    if queues.in_use is None:
        reason = "how many queues are in use is not known: neither the tap, the guest nor QEMU tells"
        return Unjudged(NAME, domain.subject_of(interface), reason)
    return Clear(NAME, domain.subject_of(interface), evidence(queues, interface.target))


def _wanted(queues: Queues) -> int:
    """What a driver uses of itself: one for each CPU, at most what there is."""
    return min(queues.configured, queues.vcpus or queues.configured)


def _not_effective(domain: DomainView, interface: DomainInterface, queues: Queues) -> Finding:
    name = interface_name(domain, interface)
    cause = (
        "Its tap was made with a single queue (no IFF_MULTI_QUEUE)"
        if queues.multi_queue_tap is False
        else "The device that runs offers the guest no more: its tap has too few queues, or it was started before the "
        "definition was changed"
    )
    return _found(
        domain,
        interface,
        queues,
        Severity.WARNING,
        f"{name}: {queues.configured} queue pairs configured, {queues.limit} effective at most",
        f"{cause}. A tap with several queues and a cold start are needed; no change of the definition acts at once.",
    )


def _left(domain: DomainView, interface: DomainInterface, queues: Queues, in_use: int) -> Finding:
    who = (
        "The guest uses fewer than it is offered: it can switch more on (ethtool -L)."
        if queues.used is not None
        else "QEMU leaves those out of the tap that the guest has not switched on, or the tap was given no more."
    )
    return _found(
        domain,
        interface,
        queues,
        Severity.INFO,
        f"{interface_name(domain, interface)} uses {in_use} of {counted(queues.configured, 'queue pair')}",
        f"{counted(queues.configured, 'queue pair')} configured for {counted(queues.vcpus or 0, 'vCPU')}, {in_use} in "
        f"use. {who}",
    )


def _pending(domain: DomainView, interface: DomainInterface, queues: Queues) -> Finding:
    return _found(
        domain,
        interface,
        queues,
        Severity.INFO,
        f"{interface_name(domain, interface)} gets {counted(queues.stored or 0, 'queue pair')} at the next cold start",
        f"It runs with {queues.configured}.",
    )


def _found(
    domain: DomainView, interface: DomainInterface, queues: Queues, severity: Severity, title: str, why: str
) -> Finding:
    facts = evidence(queues, interface.target)
    return Finding(NAME, domain.subject_of(interface), severity, title, f"{why}{later(queues)}", facts)

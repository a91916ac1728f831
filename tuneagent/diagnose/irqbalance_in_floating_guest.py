"""irqbalance-in-floating-guest: irqbalance places interrupts on vCPUs that the host moves about."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import balancer, sources
from tuneagent.diagnose.domains import each, name_of
from tuneagent.model.domain import Domain
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import View

NAME = "irqbalance-in-floating-guest"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a guest that was looked into and has several vCPUs; one sample is enough."""
    return each(view, NAME, _domain, rates=False)


def _domain(_: View, domain: DomainView) -> Iterable[Judgement]:
    guest, definition = domain.guest, domain.definition
    if guest is None or definition is None or definition.vcpus in {None, 1}:
        return
    runs = balancer.running(guest.view) if guest.view is not None else None
    if runs is None:
        yield Unjudged(NAME, domain.subject, guest.reason or "whether irqbalance runs in the guest is not known")
    elif runs and not definition.vcpus_are_pinned:
        yield _finding(domain, definition, _evidence(definition, guest.origin, runs=runs))
    else:
        yield Clear(NAME, domain.subject, _evidence(definition, guest.origin, runs=runs))


def _finding(domain: DomainView, definition: Domain, facts: tuple[Evidence, ...]) -> Finding:
    return Finding(
        NAME,
        domain.subject,
        Severity.INFO,
        f"irqbalance runs in {name_of(domain)}, whose vCPUs are not pinned",
        f"The host may run any of {definition.vcpus} vCPUs anywhere, so what irqbalance takes for near, idle or shared "
        "is not so for long. It can still part two busy queues.",
        facts,
    )


def _evidence(definition: Domain, origin: str, *, runs: bool) -> tuple[Evidence, ...]:
    numbers = definition.vcpu_numbers or range(definition.vcpus or 0)
    pinned = sum(1 for vcpu in numbers if definition.vcpu_may_run_on(vcpu) is not None)
    return (
        Evidence("irqbalance_in_guest", "runs" if runs else "does not run", "", f"{origin}: {sources.IRQBALANCE}"),
        Evidence("vcpus_pinned", pinned, "vCPUs", sources.DEFINITION),
        Evidence("vcpus", definition.vcpus, "vCPUs", sources.DEFINITION),
    )

"""The virtual machines that rules of the hypervisor look at, and how a thousand of them stay a short report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tuneagent.diagnose.subjects import MACHINE, measured, no_rates
from tuneagent.diagnose.wording import clean, listed
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import TOGETHER, DomainView, TapRate
from tuneagent.model.finding import Clear, Evidence, Judgement, Unjudged
from tuneagent.model.view import View

DOMAINS = "domains"
"""Subject of what is said of many virtual machines at once."""
MOST_CLEAR = 16
"""So many virtual machines that are well get a line each; more are told together."""
QUIET = "too little traffic to judge"


def running(view: View) -> tuple[DomainView, ...]:
    """The virtual machines that run; none where this machine is no hypervisor. A sum over all of them is none."""
    if view.hypervisor is None:
        return ()
    return tuple(
        one
        for one in view.hypervisor.domains
        if (one.definition is None or one.definition.running) and one.key != TOGETHER
    )


def each(
    view: View, rule: str, say: Callable[[View, DomainView], Iterable[Judgement]], *, rates: bool = True
) -> tuple[Judgement, ...]:
    """What a rule says of each virtual machine that runs; where it needs rates and there are none, that alone."""
    domains = running(view)
    if not domains:
        return ()
    if rates and not measured(view):
        return (no_rates(view, rule, MACHINE),)
    alone: list[Judgement] = []
    many: list[Judgement] = []
    for domain in domains:
        # The one that was asked for by name is never folded into others.
        (alone if domain.guest is not None else many).extend(say(view, domain))
    return (*alone, *folded(rule, many))


def folded(rule: str, said: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """The same, with the well ones together where they are many, and the unjudged together by their reason."""
    clear = [one for one in said if isinstance(one, Clear)]
    groups: dict[str, list[Unjudged]] = {}
    for one in said:
        if isinstance(one, Unjudged):
            groups.setdefault(QUIET if one.idle else one.reason, []).append(one)
    together = {id(one) for group in groups.values() if len(group) > 1 for one in group}
    if len(clear) > MOST_CLEAR:
        together |= {id(one) for one in clear}
    kept = [one for one in said if id(one) not in together]
    unjudged = [_unjudged(rule, reason, group) for reason, group in groups.items() if len(group) > 1]
    return (*kept, *([_clear(rule, clear)] if len(clear) > MOST_CLEAR else []), *unjudged)


def _clear(rule: str, clear: Sequence[Clear]) -> Clear:
    """The largest of each number: in all these rules the larger is the nearer to a fault."""
    largest: dict[str, tuple[float, Evidence]] = {}
    for one in clear:
        for item in one.evidence:
            value = item.value
            if isinstance(value, int | float) and (item.metric not in largest or value > largest[item.metric][0]):
                largest[item.metric] = value, item
    return Clear(
        rule,
        DOMAINS,
        (
            Evidence("judged_well", len(clear), "", "this rule, on each"),
            *(Evidence(f"largest_{name}", item.value, item.unit, item.source) for name, (_, item) in largest.items()),
        ),
    )


def _unjudged(rule: str, reason: str, group: Sequence[Unjudged]) -> Unjudged:
    names = [one.subject.removeprefix("domain ") for one in group]
    return Unjudged(rule, DOMAINS, f"{reason} ({len(names):,}: {listed(names)})", group[0].idle)


def quiet(rule: str, subject: str, detail: str) -> Unjudged:
    """The only thing that lacks is load; many such are told together, without the detail."""
    return Unjudged(rule, subject, f"{QUIET}: {detail}", idle=True)


def name_of(domain: DomainView) -> str:
    """The virtual machine in a sentence: its name may be anybody's choice."""
    return clean(domain.name)


def interface_name(domain: DomainView, interface: DomainInterface) -> str:
    """An interface in a sentence: ``vnet0 of web1``."""
    return clean(domain.subject_of(interface).removeprefix(f"{domain.subject} ")) + f" of {name_of(domain)}"


def interfaces(domain: DomainView, say: Callable[[Domain, DomainInterface], Judgement | None]) -> tuple[Judgement, ...]:
    """What is to be said of each virtio interface of a defined virtual machine."""
    definition = domain.definition
    if definition is None:
        return ()
    said = (say(definition, one) for one in definition.virtio_interfaces)
    return tuple(one for one in said if one is not None)


def vcpus(domain: DomainView) -> int | None:
    """How many vCPUs it has: by its definition, else by KVM or its threads; None where none of them tells."""
    return domain.vcpus


def packets(tap: TapRate | None) -> float | None:
    """Packets a second through a tap in both directions; None where unknown."""
    return tap.packets_per_sec if tap is not None else None

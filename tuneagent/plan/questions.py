"""Findings and policies → which policy is to be worked out on what: a NIC, a virtual machine, the whole machine."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tuneagent.model.finding import Finding
from tuneagent.model.identity import Role
from tuneagent.model.nic import Nic
from tuneagent.model.policy import Policy
from tuneagent.model.view import View
from tuneagent.plan.conflicts import MACHINE
from tuneagent.plan.places import Place, interfaces_of, running
from tuneagent.plan.registry import FROM_INSIDE, OF_A_DOMAIN, OF_A_DOMAIN_INTERFACE, OF_THE_MACHINE

CPU = re.compile(r"cpu(\d{1,5})")
"""The subject of a finding on a CPU."""
OTHER_INTERRUPT = re.compile(r"irq\d{1,10}|interrupts")
"""The subject of a finding on an interrupt that is no virtio NIC's, or on one that is not known."""


@dataclass(frozen=True, slots=True)
class Question:
    """A policy on a subject, with every finding that it answers there."""

    policy: Policy
    subject: str
    findings: tuple[Finding, ...]
    whole: str | None = None
    """The virtual machine that was asked about, where ``subject`` is one of its interfaces."""


def questions(
    view: View,
    known: Mapping[str, Place],
    findings: Sequence[Finding],
    policies: Iterable[Policy],
    wanted: Collection[str],
) -> tuple[Question, ...]:
    """Each policy on each subject once, in the order of their names."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    asked: dict[tuple[str, str], tuple[Policy, str | None, list[Finding]]] = {}
    for policy in policies:
        for subject, whole in _everywhere(view, policy) if policy.name in wanted else ():
            asked[policy.name, subject] = (policy, whole, [])
        for rule in policy.rules:
            for finding in by_rule.get(rule, ()):
                for subject, whole in _subjects(view, known, finding, policy):
                    asked.setdefault((policy.name, subject), (policy, whole, []))[2].append(finding)
    return tuple(Question(asked[key][0], key[1], tuple(asked[key][2]), asked[key][1]) for key in sorted(asked))


def is_of_the_machine(policy: Policy) -> bool:
    """Whether all that it does is done to the whole machine."""
    return all(action in OF_THE_MACHINE for action in policy.actions)


def is_of_domains(policy: Policy) -> bool:
    """Whether it is about virtual machines of this host and nothing else."""
    return any(action in (OF_A_DOMAIN | OF_A_DOMAIN_INTERFACE) - FROM_INSIDE for action in policy.actions)


_Subjects = tuple[tuple[str, str | None], ...]


def _everywhere(view: View, policy: Policy) -> _Subjects:
    if is_of_the_machine(policy):
        return ((MACHINE, None),)
    found = _on_every_domain(view, policy) if policy.role is Role.HYPERVISOR else ()
    if not is_of_domains(policy):
        found = (*found, *((nic.name, None) for nic in view.after.virtio_nics))
    return found or ((MACHINE, None),)


def _on_every_domain(view: View, policy: Policy) -> _Subjects:
    return tuple(one for domain in running(view.hypervisor) for one in _on(Place(domain), policy, keep=False))


def _on(place: Place, policy: Policy, *, keep: bool = True) -> _Subjects:
    """On a virtual machine: on itself, or on the interfaces that it has. ``keep``: on itself where it has none."""
    domain = place.domain
    if _is_of_a_whole_domain(policy):
        return ((domain.subject, None),)
    if place.interface is not None:
        return ((domain.subject_of(place.interface), None),)
    each = tuple((subject, domain.subject) for subject in interfaces_of(domain))
    return each or (((domain.subject, None),) if keep else ())


def _is_of_a_whole_domain(policy: Policy) -> bool:
    if policy.role is Role.HYPERVISOR:
        return not any(action in OF_A_DOMAIN_INTERFACE for action in policy.actions)
    return is_of_the_machine(policy)


def _subjects(view: View, known: Mapping[str, Place], finding: Finding, policy: Policy) -> _Subjects:
    """What the policy is applied to: the machine, the finding's NIC or virtual machine, or the NICs of a CPU."""
    place = known.get(finding.subject)
    if is_of_the_machine(policy) and (place is None or policy.role is Role.HYPERVISOR):
        return ((MACHINE, None),)
    if place is not None:
        return ((finding.subject, None),) if place.ambiguous else _on(place, policy)
    if finding.subject == MACHINE and is_of_domains(policy):
        return _on_every_domain(view, policy) or ((MACHINE, None),)
    return tuple((name, None) for name in _nics(view, finding))


def _nics(view: View, finding: Finding) -> tuple[str, ...]:
    cpu = CPU.fullmatch(finding.subject)
    if view.after.nic(finding.subject) is not None or (cpu is None and finding.subject != MACHINE):
        return (finding.subject,)
    irqs = set(finding.irqs)
    nics = view.after.virtio_nics
    concerned = tuple(nic.name for nic in nics if irqs & {irq.irq for irq in nic.queue_irqs})
    if not concerned and cpu is not None:
        concerned = tuple(nic.name for nic in nics if _interrupts(view, nic, int(cpu[1])))
    return concerned or ((finding.subject,) if cpu is not None else tuple(nic.name for nic in nics) or (MACHINE,))


def _interrupts(view: View, nic: Nic, cpu: int) -> bool:
    lines = [view.after.irq(queue_irq.irq) for queue_irq in nic.data_irqs_in_use]
    return any(line is not None and cpu in line.served_by for line in lines)

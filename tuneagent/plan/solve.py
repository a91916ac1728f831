"""Judgements and policies → the plan: what to change, exactly, and what cannot be helped here and why."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from tuneagent.model.finding import Finding, Judgement
from tuneagent.model.identity import Role
from tuneagent.model.nic import Nic
from tuneagent.model.plan import ORDER, Advice, Change, Declined, Plan
from tuneagent.model.policy import Action, Expectation, Policy
from tuneagent.model.view import View
from tuneagent.plan.conflicts import MACHINE, first_of_each, settle
from tuneagent.plan.event_index_on import domain_of
from tuneagent.plan.registry import OF_ANY_NIC, OF_THE_MACHINE, solver_of
from tuneagent.plan.situation import Situation, Solution

_CPU = re.compile(r"cpu(\d{1,5})")
_NAME_MAX = 15
"""IFNAMSIZ - 1 (include/uapi/linux/if.h)."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A policy on a subject, with every finding that it answers there."""

    policy: Policy
    subject: str
    findings: tuple[Finding, ...]


def plan(view: View, judgements: Iterable[Judgement], policies: Sequence[Policy], asked: Collection[str] = ()) -> Plan:
    """All advice for these findings, worst finding first, then most to gain, then by name; same input, same plan.

    Policies whose name is in ``asked`` are worked out on every virtio NIC, or on the machine, without any finding too.

    Policies that answer a finding and have nothing to do here are ``declined`` with the reason. Nothing is read or
    written. IRQ numbers and interface names in the changes are those of ``view.after`` and must be looked up again
    before anything is applied.
    """
    findings = [judgement for judgement in judgements if isinstance(judgement, Finding)]
    questions = _questions(view, findings, policies, asked)
    answers: list[tuple[Policy, Advice]] = []
    declined: list[Declined] = []
    pinned: set[str] = set()
    # Pinning is worked out first: the maps of XPS and RPS follow the interrupts to where it will put them.
    for question in sorted(questions, key=lambda question: not _pins(question.policy)):
        answer = _answer(view, question, pinning=question.subject in pinned)
        if isinstance(answer, Declined):
            declined.append(replace(answer, rules=_rules(question.findings)))
            continue
        answers.append((question.policy, answer))
        if _pins(question.policy):
            pinned.add(question.subject)
    once, again = first_of_each(sorted(answers, key=lambda pair: _rank(pair[1])), asked)
    standing, lost = settle(once)
    gave_way = (
        Declined(loser.policy, loser.subject, reason, _rules(loser.findings)) for loser, reason in (*again, *lost)
    )
    return Plan(standing, tuple(sorted((*declined, *gave_way), key=lambda one: (one.policy, one.subject))))


def _rules(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(sorted({finding.rule for finding in findings}))


def _pins(policy: Policy) -> bool:
    return Action.PIN_QUEUE_INTERRUPTS in policy.actions


def _questions(
    view: View, findings: Sequence[Finding], policies: Sequence[Policy], wanted: Collection[str]
) -> list[_Question]:
    asked: dict[tuple[str, str], _Question] = {}
    for policy in policies:
        for subject in _everywhere(view, policy) if policy.name in wanted else ():
            asked[policy.name, subject] = _Question(policy, subject, ())
        for finding in findings:
            if finding.rule not in policy.rules:
                continue
            for subject in _subjects(view, finding, policy):
                known = asked.get((policy.name, subject), _Question(policy, subject, ()))
                asked[policy.name, subject] = replace(known, findings=(*known.findings, finding))
    return [asked[key] for key in sorted(asked)]


def _everywhere(view: View, policy: Policy) -> tuple[str, ...]:
    if all(action in OF_THE_MACHINE for action in policy.actions):
        return (MACHINE,)
    return tuple(nic.name for nic in view.after.virtio_nics) or (MACHINE,)


def _subjects(view: View, finding: Finding, policy: Policy) -> tuple[str, ...]:
    """What the policy is applied to: the machine, the finding's NIC, or the NICs that a CPU's finding is about."""
    if all(action in OF_THE_MACHINE for action in policy.actions):
        return (MACHINE,)
    cpu = _CPU.fullmatch(finding.subject)
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


def _answer(view: View, question: _Question, *, pinning: bool) -> Advice | Declined:
    situation = Situation(question.policy, question.subject, view, view.after.nic(question.subject), pinning)
    reason = _not_ours(situation)
    if reason:
        return situation.declined(reason)
    solution = _solve(situation)
    return solution if isinstance(solution, Declined) else _advice(situation, question, solution)


def _not_ours(situation: Situation) -> str | None:
    identity, nic = situation.view.after.identity, situation.nic
    if identity is not None and identity.container is not None:
        return f"this is a container ({identity.container}): interrupts and CPUs are its host's"
    if nic is None:
        return _without_nic(situation)
    if not nic.name.isprintable() or len(nic.name) > _NAME_MAX or "/" in nic.name or nic.name in {"", ".", ".."}:
        return "its name is not one that the kernel would give an interface"
    if nic.virtio is None and not OF_ANY_NIC.issuperset(situation.policy.actions):
        return "not a virtio NIC"
    return None


def _without_nic(situation: Situation) -> str | None:
    if all(action in OF_THE_MACHINE for action in situation.policy.actions):
        return None
    if situation.subject == MACHINE:
        return "no virtio NIC here"
    on_cpu = _CPU.fullmatch(situation.subject)
    return "no virtio NIC has its queue interrupts on this CPU" if on_cpu else "no such interface now"


def _solve(situation: Situation) -> Solution | Declined:
    """Every action in turn. The last one is the purpose: without it the policy is nothing; the others prepare it."""
    changes: list[Change] = []
    notes: list[str] = []
    for action in situation.policy.actions:
        solution = solver_of(action)(situation)
        if isinstance(solution, Solution):
            changes.extend(solution.changes)
            notes.extend(solution.notes)
        elif action is situation.policy.actions[-1]:
            return solution
        else:
            notes.append(solution.reason)
    if not changes:
        return situation.declined("; ".join(("already so", *notes)))
    return Solution(tuple(sorted(changes, key=lambda change: ORDER.index(change.kind))), tuple(dict.fromkeys(notes)))


def _advice(situation: Situation, question: _Question, solution: Solution) -> Advice:
    policy = question.policy
    no_undo = tuple(
        f"{change.where}: no undo line, its old value is not known"
        for change in solution.changes
        if change.undo is None
    )
    return Advice(
        id=f"{policy.name}:{question.subject}",
        policy=policy.name,
        title=policy.title,
        subject=question.subject,
        findings=tuple(
            sorted(question.findings, key=lambda finding: (-finding.severity, finding.rule, finding.subject))
        ),
        role=policy.role,
        changes=solution.changes,
        disruption=policy.disruption,
        expects=_expected(policy, question.findings),
        guards=policy.guards,
        notes=(*_sandboxed(situation, solution), *solution.notes, *no_undo),
        apply_command=_command(situation),
        avoid_when=policy.avoid_when,
        undo_note=policy.undo,
    )


def _sandboxed(situation: Situation, solution: Solution) -> tuple[str, ...]:
    identity = situation.view.after.identity
    closed = identity.read_only if identity is not None else ()
    hit = [place for place in closed if any(change.where.startswith(f"{place}/") for change in solution.changes)]
    if not hit:
        return ()
    return (f"{' and '.join(hit)} is mounted read-only here, as in a sandbox: run the lines outside of it",)


def _expected(policy: Policy, findings: tuple[Finding, ...]) -> tuple[Expectation, ...]:
    # A figure measured for one fault says nothing of another that the same policy answers.
    found = {finding.rule for finding in findings}
    return tuple(one for one in policy.expects if not one.rules or found & set(one.rules))


def _command(situation: Situation) -> str:
    """What to type. A guest cannot change its definition: that is done on the hypervisor, which knows it by UUID."""
    words = ["tuneagent", "apply", situation.policy.name]
    if situation.policy.role is Role.HYPERVISOR:
        words += ["--domain", domain_of(situation) or "DOMAIN"]
    elif situation.nic is not None:
        words += ["--on", situation.subject]
    return shlex.join(words)


def _rank(advice: Advice) -> tuple[int, float, str, str]:
    severity = max((finding.severity for finding in advice.findings), default=-1)
    gain = max((abs(one.percent_low + one.percent_high) / 2 for one in advice.expects), default=0.0)
    return -severity, -gain, advice.policy, advice.subject

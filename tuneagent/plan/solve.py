"""Judgements and policies → the plan: what to change, exactly, and what cannot be helped here and why."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Finding, Judgement
from tuneagent.model.identity import Role
from tuneagent.model.plan import ORDER, Advice, Change, Declined, Plan, TunableKind
from tuneagent.model.policy import Action, Expectation, Policy
from tuneagent.model.view import View
from tuneagent.plan.conflicts import first_of_each, settle
from tuneagent.plan.domain_interface import domain_uuid
from tuneagent.plan.event_index_on import domain_of
from tuneagent.plan.host_cpus import occupied
from tuneagent.plan.places import Place, places
from tuneagent.plan.questions import Question, is_of_the_machine, questions
from tuneagent.plan.registry import solver_of
from tuneagent.plan.scope import not_ours
from tuneagent.plan.situation import Situation, Solution


def plan(view: View, judgements: Iterable[Judgement], policies: Sequence[Policy], asked: Collection[str] = ()) -> Plan:
    """All advice for these findings, worst finding first, then most to gain, then by name; same input, same plan.

    Policies whose name is in ``asked`` are worked out without any finding too: on every virtio NIC, on every running
    virtual machine or each of its virtio interfaces, or on the machine.

    Policies that answer a finding and have nothing to do here are ``declined`` with the reason. Nothing is read or
    written. IRQ numbers and interface names in the changes are those of ``view.after`` and must be looked up again
    before anything is applied.
    """
    here = _Here(view, places(view.hypervisor), *_occupied(view))
    findings = [judgement for judgement in judgements if isinstance(judgement, Finding)]
    every = questions(view, here.places, findings, policies, asked)
    answers, declined = _answers(here, every, asked)
    once, again = first_of_each(sorted(answers, key=lambda pair: _rank(pair[1])), asked)
    standing, lost = settle(once, _elsewhere(here, answers), asked)
    gave_way = (
        Declined(loser.policy, loser.subject, reason, _rules(loser.findings)) for loser, reason in (*again, *lost)
    )
    standing = _on_one_another(here, every, standing)
    every_declined = (*_once_a_domain(declined), *gave_way)
    return Plan(standing, tuple(sorted(every_declined, key=lambda one: (one.policy, one.subject))))


@dataclass(frozen=True, slots=True)
class _Here:
    """This machine, and what is worked out once for all questions."""

    view: View
    places: dict[str, Place]
    taken: CpuSet
    busy: CpuSet


def _occupied(view: View) -> tuple[CpuSet, CpuSet]:
    if view.hypervisor is None or view.after.cpus is None:
        return CpuSet(), CpuSet()
    return occupied(view.after.cpus, view.hypervisor.domains)


def _answers(
    here: _Here, every: Iterable[Question], asked: Collection[str]
) -> tuple[list[tuple[Policy, Advice]], list[tuple[Question, Declined]]]:
    """What each question comes to by itself."""
    answers: list[tuple[Policy, Advice]] = []
    declined: list[tuple[Question, Declined]] = []
    pinned: set[str] = set()
    banned: set[str] = set()
    # Pinning is worked out first: the maps of XPS and RPS follow the interrupts to where it will put them. A ban over
    # the socket is worked out before: with one that was asked for by name no pinning needs the ban in the file.
    for question in sorted(every, key=lambda question: (not _bans_now(question.policy), not _pins(question.policy))):
        answer = _answer(here, question, pinning=question.subject in pinned, banning=question.subject in banned)
        if isinstance(answer, Declined):
            declined.append((question, replace(answer, rules=_rules(question.findings))))
            continue
        answers.append((question.policy, answer))
        if _pins(question.policy):
            pinned.add(question.subject)
        if _bans_now(question.policy) and question.policy.name in asked:
            banned.add(question.subject)
    return answers, declined


def _elsewhere(here: _Here, answers: Iterable[tuple[Policy, Advice]]) -> dict[str, str]:
    """By its id, the virtual machine inside which advice is carried out; what is missing is done on this machine."""
    return {
        advice.id: here.places[advice.subject].domain.subject
        for policy, advice in answers
        if policy.role is Role.GUEST and advice.subject in here.places
    }


def _once_a_domain(declined: Iterable[tuple[Question, Declined]]) -> Iterator[Declined]:
    """What was asked of a whole virtual machine and declined on several interfaces for one reason is told once."""
    groups: dict[tuple[str, str, str], list[Declined]] = {}
    for question, one in declined:
        groups.setdefault((one.policy, question.whole or one.subject, one.reason), []).append(one)
    for (policy, subject, reason), same in groups.items():
        rules = tuple(sorted({rule for one in same for rule in one.rules}))
        yield same[0] if len(same) == 1 else Declined(policy, subject, reason, rules)


def _on_one_another(here: _Here, asked: Iterable[Question], standing: Iterable[Advice]) -> tuple[Advice, ...]:
    """The same advice, where each that writes an interface's element keeps what the ones before it wrote there."""
    by_id = {_id(question): question for question in asked}
    written: dict[tuple[str | None, int | None], dict[str, str]] = {}
    built: list[Advice] = []
    for advice in standing:
        edits = [change for change in advice.changes if change.kind is TunableKind.DOMAIN_INTERFACE_DRIVER]
        earlier = next(
            (written[_element(change)] for change in edits if change.diff and _element(change) in written), None
        )
        again = _answer(here, by_id[advice.id], earlier=earlier) if earlier else advice
        built.append(again if isinstance(again, Advice) else advice)
        for change in edits:
            written.setdefault(_element(change), {})[change.target.parameter or ""] = change.new
    return tuple(built)


def _element(change: Change) -> tuple[str | None, int | None]:
    return change.target.domain_uuid, change.target.position


def _id(question: Question) -> str:
    return f"{question.policy.name}:{question.subject}"


def _rules(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(sorted({finding.rule for finding in findings}))


def _pins(policy: Policy) -> bool:
    return Action.PIN_QUEUE_INTERRUPTS in policy.actions


def _bans_now(policy: Policy) -> bool:
    return Action.IRQBALANCE_BAN_NOW in policy.actions


def _answer(
    here: _Here,
    question: Question,
    *,
    pinning: bool = False,
    banning: bool = False,
    earlier: Mapping[str, str] | None = None,
) -> Advice | Declined:
    situation = _situation(here, question, pinning=pinning)
    if isinstance(situation, Declined):
        return situation
    situation = replace(situation, banning=banning, earlier=earlier or {})
    reason = not_ours(situation)
    if reason:
        return situation.declined(reason)
    solution = _solve(situation)
    if isinstance(solution, Declined):
        return solution
    place = here.places.get(question.subject)
    if place is not None and question.policy.role is Role.GUEST:
        solution = replace(solution, notes=(f"run inside the virtual machine {place.domain.name}", *solution.notes))
    return _advice(situation, question, solution)


def _situation(here: _Here, question: Question, *, pinning: bool) -> Situation | Declined:
    policy, subject = question.policy, question.subject
    place = here.places.get(subject)
    if place is None:
        nic = here.view.after.nic(subject)
        return Situation(policy, subject, here.view, nic, pinning, findings=question.findings)
    if place.ambiguous:
        return Declined(
            policy.name, subject, "several virtual machines or interfaces here are called so: which is meant?"
        )
    if policy.role is Role.GUEST:
        return _inside(question, place, pinning=pinning)
    return Situation(
        policy,
        subject,
        here.view,
        None,
        domain=place.domain,
        interface=place.interface,
        findings=question.findings,
        taken=here.taken,
        busy=here.busy,
    )


def _inside(question: Question, place: Place, *, pinning: bool) -> Situation | Declined:
    """What a guest's policy finds in the virtual machine itself, by the guest's own view."""
    guest = place.domain.guest
    if guest is None or guest.view is None:
        why = guest.reason if guest is not None and guest.reason else "its guest was not asked"
        return Declined(
            question.policy.name, question.subject, f"done inside the virtual machine, not seen here: {why}"
        )
    nic = next((one.nic for one in guest.nics if one.interface == place.interface), None)
    return Situation(question.policy, question.subject, guest.view, nic, pinning, findings=question.findings)


def _solve(situation: Situation) -> Solution | Declined:
    """Every action in turn. The last one is the purpose: without it the policy is nothing; the others prepare it."""
    changes: list[Change] = []
    notes: list[str] = []
    for action in situation.policy.actions:
        if _is_banned_already(situation, action):
            continue
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


def _is_banned_already(situation: Situation, action: Action) -> bool:
    """Whether it is a ban in the file that only prepares, where the running irqbalance is told the same."""
    prepares = action is not situation.policy.actions[-1]
    return prepares and situation.banning and action is Action.IRQBALANCE_BAN


def _advice(situation: Situation, question: Question, solution: Solution) -> Advice:
    policy = question.policy
    no_undo = tuple(
        f"{change.where}: no undo line, its old value is not known"
        for change in solution.changes
        if change.undo is None
    )
    return Advice(
        id=_id(question),
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
    if situation.domain is not None:
        words += ["--domain", domain_uuid(situation) or situation.domain.name]
        interface = situation.interface
        words += ["--on", interface.target or interface.mac or str(interface.position)] if interface else []
    elif situation.policy.role is Role.HYPERVISOR and not is_of_the_machine(situation.policy):
        words += ["--domain", domain_of(situation) or "DOMAIN"]
    elif situation.nic is not None:
        words += ["--on", situation.nic.name]
    return shlex.join(words)


def _rank(advice: Advice) -> tuple[int, float, str, str]:
    severity = max((finding.severity for finding in advice.findings), default=-1)
    gain = max((abs(one.percent_low + one.percent_high) / 2 for one in advice.expects), default=0.0)
    return -severity, -gain, advice.policy, advice.subject

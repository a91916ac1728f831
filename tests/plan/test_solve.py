from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import make
from tests.plan import build
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Clear, Finding, Severity, Unjudged
from tuneagent.model.identity import Role
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import Channels, RxQueue, TxQueue
from tuneagent.model.plan import ORDER, Advice, Change, Plan, TunableKind
from tuneagent.model.policy import Action, Expectation, Policy
from tuneagent.model.snapshot import Snapshot
from tuneagent.plan.solve import plan

PIN = build.policy(Action.IRQBALANCE_BAN, Action.PIN_QUEUE_INTERRUPTS, name="pin", rules=("share",))
BAN = build.policy(Action.IRQBALANCE_BAN, name="ban", rules=("fight",))
OFF = build.policy(Action.IRQBALANCE_OFF, name="off", rules=("in-guest",))
ON = build.policy(Action.IRQBALANCE_ON, name="on", rules=("absent",))
XPS = build.policy(Action.XPS_BY_QUEUE, name="xps", rules=("mismatch",))
RPS = build.policy(Action.RPS_SPREAD, name="rps", rules=("saturated",))
RPS_OFF = build.policy(Action.RPS_OFF, name="rps-off", rules=("useless",))
QUEUES = build.policy(Action.SET_CHANNELS, name="queues", rules=("saturated", "below"))
EVENT = build.policy(Action.EVENT_INDEX_ON, name="event", rules=("event-off",), role=Role.HYPERVISOR)
EVERY = (PIN, BAN, OFF, ON, XPS, RPS, RPS_OFF, QUEUES, EVENT)
PILED = build.spread(make.snapshot(), 3)


def of(now: Snapshot, *findings: Finding, policies: tuple[Policy, ...] = EVERY) -> Plan:
    return plan(make.view(now), findings, policies)


def ids(answer: Plan) -> list[str]:
    return [advice.id for advice in answer.advice]


def reasons(answer: Plan) -> dict[str, str]:
    return {f"{one.policy}:{one.subject}": one.reason for one in answer.declined}


def only(answer: Plan) -> Advice:
    (advice,) = answer.advice
    return advice


def with_balance(now: Snapshot, file: bool = True) -> Snapshot:  # noqa: FBT001, FBT002 - the one thing that differs
    return replace(now, irqbalance=build.balance(build.config("--debug") if file else None))


def test_an_advice_in_full() -> None:
    wrong = build.finding("share", severity=Severity.CRITICAL)
    policy = replace(PIN, expects=(Expectation("txn", "up", 3.0, 9.0, "x"),))
    advice = only(of(PILED, wrong, policies=(policy,)))
    assert advice.id == "pin:eth0"
    assert (advice.policy, advice.subject, advice.title) == ("pin", "eth0", "A policy")
    assert advice.findings == (wrong,)
    assert advice.expects == policy.expects
    assert advice.apply_command == "tuneagent apply pin --on eth0"
    assert [change.new for change in advice.changes] == ["0", "0", "1", "1", "2", "2"]


def test_only_findings_are_answered() -> None:
    judgements = (Clear("share", "eth0", ()), Unjudged("share", "eth0", "idle"))
    assert plan(make.view(PILED), judgements, EVERY) == Plan((), ())


def test_findings_on_one_subject_make_one_advice() -> None:
    policy = replace(PIN, rules=("share", "split"))
    small, great = build.finding("share"), build.finding("split", severity=Severity.CRITICAL)
    assert only(of(PILED, small, great, policies=(policy,))).findings == (great, small)


def test_what_is_well_already_is_declined_with_the_reason() -> None:
    answer = of(make.snapshot(), build.finding("share"))
    assert answer.advice == ()
    assert reasons(answer)["pin:eth0"].startswith("already so")
    assert [one.rules for one in answer.declined] == [("share",)]


def test_irqbalance_is_banned_before_pins_are_written() -> None:
    advice = only(of(with_balance(PILED), build.finding("share")))
    kinds = [change.kind for change in advice.changes]
    assert kinds[0] is TunableKind.IRQBALANCE_BAN
    assert set(kinds[1:]) == {TunableKind.IRQ_AFFINITY}


def test_pins_without_a_ban_say_what_will_become_of_them() -> None:
    advice = only(of(with_balance(PILED, file=False), build.finding("share")))
    assert {change.kind for change in advice.changes} == {TunableKind.IRQ_AFFINITY}
    assert any("will undo pins" in note for note in advice.notes)


def test_right_pins_that_irqbalance_may_move_need_the_ban_alone() -> None:
    advice = only(of(with_balance(make.snapshot()), build.finding("share")))
    assert [change.kind for change in advice.changes] == [TunableKind.IRQBALANCE_BAN]


def test_without_its_purpose_a_policy_prepares_nothing() -> None:
    shared = build.with_nic(with_balance(PILED), queue_irqs=())
    assert "no queue has an interrupt" in reasons(of(shared, build.finding("share")))["pin:eth0"]
    unseen = of(replace(with_balance(PILED), cpus=None), build.finding("share"))
    assert unseen.advice == ()
    assert "not known" in reasons(unseen)["pin:eth0"]


def test_changes_are_in_the_order_of_application() -> None:
    mixed = build.policy(Action.XPS_BY_QUEUE, Action.SET_CHANNELS, Action.PIN_QUEUE_INTERRUPTS, name="m", rules=("x",))
    now = build.with_nic(
        build.spread(make.snapshot(), 3),
        channels=Channels(combined=2, combined_max=4),
        tx_queues=(TxQueue(0, CpuSet(), 0), TxQueue(1, CpuSet(), 0)),
    )
    kinds = [change.kind for change in only(of(now, build.finding("x"), policies=(mixed,))).changes]
    assert kinds == sorted(kinds, key=ORDER.index)
    assert len(set(kinds)) == 3


def test_worst_first_then_most_to_gain_then_by_name() -> None:
    def answers(name: str, rule: str, low: float = 0.0, high: float = 0.0) -> Policy:
        gain = (Expectation("txn", "up", low, high, "x"),) if high else ()
        return build.policy(Action.XPS_BY_QUEUE, name=name, rules=(rule,), expects=gain)

    policies = (
        answers("a-small", "warn", 1, 3),
        answers("b-none", "warn"),
        answers("a-none", "warn"),
        answers("c-great", "warn", 20, 40),
        answers("z-worst", "crit"),
    )
    now = build.with_nic(make.snapshot(), tx_queues=tuple(TxQueue(queue, CpuSet(), 0) for queue in range(4)))
    findings = (build.finding("warn"), build.finding("crit", severity=Severity.CRITICAL))
    # Asked for by name, for all of them make the same changes.
    answer = plan(make.view(now), findings, policies, [policy.name for policy in policies])
    assert [advice.policy for advice in answer.advice] == ["z-worst", "c-great", "a-small", "a-none", "b-none"]


def test_the_order_of_what_is_given_does_not_matter() -> None:
    now = with_balance(build.with_nic(PILED, channels=Channels(combined=4, combined_max=8)))
    findings = [build.finding(rule) for policy in EVERY for rule in policy.rules]
    policies = list(EVERY)
    first = of(now, *findings, policies=tuple(policies))
    shuffle = random.Random(7)  # noqa: S311 - an order, no secret
    for _ in range(5):
        shuffle.shuffle(findings)
        shuffle.shuffle(policies)
        again = of(now, *findings, policies=tuple(policies))
        assert [advice.changes for advice in again.advice] == [advice.changes for advice in first.advice]
        assert again == first


def test_the_hypervisors_part_names_the_domain() -> None:
    now = make.snapshot()
    assert now.virtio is not None
    now = replace(now, virtio=(replace(now.virtio[0], features=frozenset({5})),))
    advice = only(of(now, build.finding("event-off")))
    assert advice.role is Role.HYPERVISOR
    assert advice.apply_command == "tuneagent apply event --domain 11111111-2222-3333-4444-555555555555"


def test_a_cpus_finding_is_answered_on_the_nic_whose_interrupts_go_there() -> None:
    one_queue = make.snapshot(queues=1)
    assert ids(of(one_queue, build.finding("saturated", "cpu0"))) == ["rps:eth0"]
    reason = reasons(of(one_queue, build.finding("saturated", "cpu3")))["rps:cpu3"]
    assert reason == "no virtio NIC has its queue interrupts on this CPU"


def test_a_cpus_finding_is_answered_on_a_nic_with_one_line_for_all() -> None:
    now = build.with_nic(make.snapshot(queues=1), queue_irqs=(QueueIrq(31, QueueRole.DEVICE, None),))
    assert ids(of(now, build.finding("saturated", "cpu0"))) == ["rps:eth0"]
    config = build.with_nic(now, queue_irqs=(QueueIrq(30, QueueRole.CONFIG, None),))
    assert ids(of(config, build.finding("saturated", "cpu0"))) == []


def test_a_mask_of_one_cpu_is_where_an_interrupt_goes_without_an_effective_affinity() -> None:
    old = replace(PILED, irqs=tuple(replace(line, effective_affinity=None) for line in PILED.irqs or ()))
    assert ids(of(old, build.finding("share", subject="cpu3"))) == ["pin:eth0"]
    assert "on this CPU" in " ".join(reasons(of(old, build.finding("share", subject="cpu1"))).values())


def test_a_finding_that_names_interrupts_is_about_their_nic() -> None:
    one_queue = make.snapshot(queues=1)
    assert ids(of(one_queue, build.finding("saturated", "cpu3", irqs=(31,)))) == ["rps:eth0"]


def test_a_machines_finding_is_about_every_virtio_nic() -> None:
    assert ids(of(make.snapshot(queues=1), build.finding("saturated", "machine"))) == ["rps:eth0"]
    bare = replace(make.snapshot(), nics=())
    assert reasons(of(bare, build.finding("saturated", "machine")))["rps:machine"] == "no virtio NIC here"


def test_a_container_changes_nothing() -> None:
    now = with_balance(PILED)
    assert now.identity is not None
    contained = replace(now, identity=replace(now.identity, container="lxc"))
    answer = of(contained, build.finding("share"), build.finding("in-guest"))
    assert answer.advice == ()
    assert all("container (lxc)" in reason for reason in reasons(answer).values())


def test_what_is_not_virtio_is_not_ours_to_place() -> None:
    physical = build.with_nic(PILED, virtio=None, rx_queues=(RxQueue(0, CpuSet.of([1]), 0),))
    answer = of(physical, build.finding("share"), build.finding("useless"))
    assert reasons(answer) == {"pin:eth0": "not a virtio NIC"}
    assert ids(answer) == ["rps-off:eth0"]


def test_an_interface_that_has_gone() -> None:
    assert reasons(of(PILED, build.finding("share", "eth9")))["pin:eth9"] == "no such interface now"


@pytest.mark.parametrize("name", ["../../etc", "a" * 16, "a\nb", "\x1b[2J", ".."])
def test_a_name_that_no_kernel_gives_is_refused(name: str) -> None:
    answer = of(build.with_nic(PILED, name=name), build.finding("share", name))
    assert "its name" in reasons(answer)[f"pin:{name}"]


def test_a_hostile_name_is_quoted_in_the_command() -> None:
    advice = only(of(build.with_nic(PILED, name="a;b"), build.finding("share", "a;b")))
    assert advice.apply_command == "tuneagent apply pin --on 'a;b'"


def test_maps_follow_the_interrupts_to_where_the_same_plan_pins_them() -> None:
    # Interrupts are one to a CPU but in reverse; pinned by this plan, they come to be in order, and so do the maps.
    now = make.snapshot(cpus=2, queues=2)
    for irq, cpu in ((31, 1), (32, 1), (33, 0), (34, 0)):
        now = build.with_line(now, irq, affinity=CpuSet.of([cpu]), effective_affinity=CpuSet.of([cpu]))
    now = build.with_nic(now, tx_queues=(TxQueue(0, CpuSet(), 0), TxQueue(1, CpuSet(), 0)))
    both = {advice.policy: advice for advice in of(now, build.finding("share"), build.finding("mismatch")).advice}
    assert [change.new for change in both["xps"].changes] == ["1", "2"]
    alone = only(of(now, build.finding("mismatch")))
    assert [change.new for change in alone.changes] == ["2", "1"]


def applied(now: Snapshot, changes: tuple[Change, ...]) -> Snapshot:
    """The machine after affinity and XPS changes, with every interrupt gone where it may go."""
    for change in changes:
        if change.kind is TunableKind.IRQ_AFFINITY and change.target.irq is not None:
            only_cpu = CpuSet.of([int(change.new)])
            now = build.with_line(now, change.target.irq, affinity=only_cpu, effective_affinity=only_cpu)
        if change.kind is TunableKind.XPS_CPUS and now.nics is not None:
            mask = CpuSet(int(change.new.replace(",", ""), 16))
            queues = tuple(
                replace(q, xps_cpus=mask) if q.index == change.target.queue else q for q in now.nics[0].tx_queues
            )
            now = build.with_nic(now, tx_queues=queues)
    return now


@given(st.integers(1, 9), st.integers(1, 12), st.data())
def test_a_plan_carried_out_leaves_nothing_to_plan(cpus: int, queues: int, data: st.DataObject) -> None:
    now = make.snapshot(cpus, queues)
    anywhere = st.sets(st.integers(0, cpus - 1), min_size=1)
    for line in now.irqs or ():
        allowed = CpuSet.of(data.draw(anywhere))
        effective = CpuSet.of([data.draw(st.sampled_from(tuple(allowed)))])
        now = build.with_line(now, line.irq, affinity=allowed, effective_affinity=effective)
    findings = (build.finding("share"), build.finding("mismatch"))
    first = of(now, *findings)
    for advice in first.advice:
        now = applied(now, advice.changes)
    assert of(now, *findings).advice == ()


def test_a_policy_that_is_asked_for_is_worked_out_without_a_finding() -> None:
    view = make.view(PILED)
    assert plan(view, (), EVERY).advice == ()
    (advice,) = plan(view, (), EVERY, {"pin"}).advice
    assert (advice.id, advice.findings) == ("pin:eth0", ())
    assert len([change for change in advice.changes if change.kind is TunableKind.IRQ_AFFINITY]) == 6


def test_two_policies_that_change_the_same_are_told_once() -> None:
    mine = replace(PIN, name="aa-pin", actions=(Action.PIN_QUEUE_INTERRUPTS,))
    answer = of(PILED, build.finding("share"), policies=(PIN, mine, XPS))
    assert ids(answer) == ["aa-pin:eth0"]
    assert reasons(answer) == {"pin:eth0": "makes the same changes as aa-pin"}
    assert answer.declined[0].rules == ("share",)


def test_the_first_by_rank_stands_where_two_change_the_same() -> None:
    gain = (Expectation("transactions_per_sec", "up", 30.0, 40.0, "a run"),)
    better = replace(PIN, name="zz-pin", expects=gain)
    assert ids(of(PILED, build.finding("share"), policies=(PIN, better))) == ["zz-pin:eth0"]


def test_what_is_asked_for_by_name_stands_beside_its_double() -> None:
    double = replace(PIN, name="zz-pin")
    answer = plan(make.view(PILED), [build.finding("share")], (PIN, double), ["zz-pin"])
    assert sorted(ids(answer)) == ["pin:eth0", "zz-pin:eth0"]


def test_more_than_the_same_changes_is_another_advice() -> None:
    more = build.policy(Action.XPS_BY_QUEUE, Action.PIN_QUEUE_INTERRUPTS, name="more", rules=("share",))
    now = build.with_nic(PILED, tx_queues=tuple(TxQueue(index, CpuSet(), 0) for index in range(4)))
    assert len(of(now, build.finding("share"), policies=(PIN, more)).advice) == 2


def test_a_figure_is_told_only_for_the_finding_that_it_was_measured_for() -> None:
    figures = (Expectation("txn", "up", 3.0, 9.0, "x", ("share",)), Expectation("txn", "up", 1.0, 2.0, "y"))
    policy = replace(PIN, rules=("share", "split"), expects=figures)
    shared = only(of(PILED, build.finding("share"), policies=(policy,)))
    split = only(of(PILED, build.finding("split"), policies=(policy,)))
    assert [one.source for one in shared.expects] == ["x", "y"]
    assert [one.source for one in split.expects] == ["y"]


def test_in_a_sandbox_the_advice_says_where_its_lines_can_be_run() -> None:
    assert PILED.identity is not None
    boxed = replace(PILED, identity=replace(PILED.identity, read_only=("/proc/irq", "/sys")))
    notes = only(of(boxed, build.finding("share"))).notes
    assert [note for note in notes if "/proc/irq is mounted read-only" in note]
    assert not [note for note in only(of(PILED, build.finding("share"))).notes if "read-only" in note]

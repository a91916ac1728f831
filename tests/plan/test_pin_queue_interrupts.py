from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.plan import build
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import Channels
from tuneagent.model.plan import TunableKind
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot

PIN = Action.PIN_QUEUE_INTERRUPTS


def plan_of(now: Snapshot) -> dict[int | None, str]:
    return {change.target.irq: change.new for change in build.changes(build.solve(PIN, now))}


def test_pairs_stay_together_and_apart_from_each_other() -> None:
    piled = build.spread(make.snapshot(), 0, 1, 2, 3)
    assert plan_of(piled) == {31: "0", 32: "0", 33: "1", 34: "1", 35: "2", 36: "2", 37: "3", 38: "3"}


def test_a_change_says_where_old_new_and_both_shell_lines() -> None:
    change = build.changes(build.solve(PIN, build.spread(make.snapshot(), 0, 1, 3)))[3]
    assert change.kind is TunableKind.IRQ_AFFINITY
    assert change.where == "/proc/irq/34/smp_affinity_list"
    assert (change.old, change.new) == ("0-1,3", "1")
    assert change.do == "echo 1 > /proc/irq/34/smp_affinity_list"
    assert change.undo == "echo 0-1,3 > /proc/irq/34/smp_affinity_list"
    target = change.target
    assert (target.bus_address, target.virtio, target.mac) == ("0000:00:03.0", "virtio0", "52:54:00:12:34:56")
    assert (target.queue, target.queue_role, target.irq, target.interface) == (1, "output", 34, "eth0")


def test_where_a_cpu_has_no_free_vector_cpus_without_a_queue_come_first() -> None:
    two_queues = make.snapshot(cpus=4, queues=2)
    changes = build.changes(build.solve(PIN, build.spread(two_queues, 0, 1, 2, 3)))
    assert {change.new: change.elsewhere for change in changes} == {"0": ("2", "3", "1"), "1": ("2", "3", "0")}


def test_what_is_so_already_is_not_changed() -> None:
    moved = build.with_line(make.snapshot(), 36, affinity=CpuSet.of([0]))
    assert plan_of(moved) == {36: "2"}
    assert build.changes(build.solve(PIN, make.snapshot())) == ()


def test_a_mask_that_lags_in_effect_is_not_written_again() -> None:
    idle = build.with_line(make.snapshot(), 33, effective_affinity=CpuSet.of([0]))
    assert build.changes(build.solve(PIN, idle)) == ()


def test_bits_of_offline_cpus_do_not_count() -> None:
    wide = build.with_line(make.snapshot(), 33, affinity=CpuSet.of([1, 6]))
    assert build.changes(build.solve(PIN, wide)) == ()


def test_an_unmovable_interrupt_is_left_alone_and_said() -> None:
    fixed = build.with_line(build.spread(make.snapshot(), 0), 33, movable=False, movable_reason="managed by the kernel")
    assert 33 not in plan_of(fixed)
    assert 34 in plan_of(fixed)
    assert "IRQ 33 (input.1) cannot be moved and is left alone: managed" in build.notes(build.solve(PIN, fixed))


def test_unknown_movability_is_tried_and_said() -> None:
    unsure = build.with_line(build.spread(make.snapshot(), 0), 33, movable=None)
    assert plan_of(unsure)[33] == "1"
    assert "IRQ 33 (input.1) may turn out not to be movable" in build.notes(build.solve(PIN, unsure))


def test_unknown_affinity_has_no_undo() -> None:
    unread = build.with_line(make.snapshot(), 33, affinity=None, effective_affinity=None)
    (change,) = build.changes(build.solve(PIN, unread))
    assert (change.old, change.undo, change.new) == (None, None, "1")


@pytest.mark.parametrize(("role", "says"), [(QueueRole.SHARED_QUEUES, "one vector"), (QueueRole.DEVICE, "one line")])
def test_no_queue_interrupt_of_its_own(role: QueueRole, says: str) -> None:
    shared = build.with_nic(make.snapshot(), queue_irqs=(QueueIrq(31, role, None),))
    reason = build.reason(build.solve(PIN, shared))
    assert "not a queue interrupt" in reason
    assert says in reason


def test_only_queues_in_use_are_pinned() -> None:
    half = build.with_nic(build.spread(make.snapshot(), 3), channels=Channels(combined=2, combined_max=4))
    assert plan_of(half) == {31: "0", 32: "0", 33: "1", 34: "1"}


def test_no_cpus_known_is_no_plan() -> None:
    assert "not known" in build.reason(build.solve(PIN, replace(make.snapshot(), cpus=None)))


def test_avoided_and_shared_cpus_are_said() -> None:
    now = replace(build.spread(make.snapshot(), 3), cpus=make.topology(4, isolated=CpuSet.of([2, 3])))
    notes = build.notes(build.solve(PIN, now))
    assert "CPUs 2-3 are isolated" in notes
    assert "4 queue pairs share 2 CPUs" in notes

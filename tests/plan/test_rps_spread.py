from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.plan import build
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import RxQueue
from tuneagent.model.policy import Action

RPS = Action.RPS_SPREAD


def test_one_queue_hands_to_all_other_cpus() -> None:
    (change,) = build.changes(build.solve(RPS, make.snapshot(4, 1)))
    assert (change.old, change.new) == ("0", "e")
    assert change.do == "echo e > /sys/class/net/eth0/queues/rx-0/rps_cpus"
    assert change.undo == "echo 0 > /sys/class/net/eth0/queues/rx-0/rps_cpus"


def test_interrupting_cpus_of_every_queue_are_left_out() -> None:
    assert [change.new for change in build.changes(build.solve(RPS, make.snapshot(4, 2)))] == ["c", "c"]


def test_isolated_cpus_get_no_packets() -> None:
    now = replace(make.snapshot(4, 1), cpus=make.topology(4, isolated=CpuSet.of([2])))
    assert [change.new for change in build.changes(build.solve(RPS, now))] == ["a"]


def test_one_cpu_is_no_operation() -> None:
    assert "one CPU" in build.reason(build.solve(RPS, make.snapshot(1, 1)))


def test_a_queue_for_each_cpu_leaves_nothing_to_spread() -> None:
    assert "queue of its own" in build.reason(build.solve(RPS, make.snapshot(4, 4)))


def test_what_is_so_already_is_not_changed() -> None:
    now = build.with_nic(make.snapshot(4, 1), rx_queues=(RxQueue(0, CpuSet.of([1, 2, 3]), 0),))
    assert build.changes(build.solve(RPS, now)) == ()


def test_an_unreadable_map_has_no_undo() -> None:
    now = build.with_nic(make.snapshot(4, 1), rx_queues=(RxQueue(0, None, 0),))
    answer = build.solve(RPS, now)
    assert build.changes(answer)[0].undo is None
    assert "rx-0" in build.notes(answer)


def test_one_vector_for_all_queues_interrupts_one_cpu() -> None:
    for role in (QueueRole.SHARED_QUEUES, QueueRole.DEVICE):
        now = build.with_nic(make.snapshot(4, 2), queue_irqs=(QueueIrq(33, role, None),))
        old = build.with_line(now, 33, effective_affinity=None)
        for one in (now, old):
            assert [change.new for change in build.changes(build.solve(RPS, one))] == ["d", "d"]

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests import make
from tests.plan import build
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import TxQueue
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot
from tuneagent.plan.solve import plan

XPS = Action.XPS_BY_QUEUE


def mapped(now: Snapshot, *, pinning: bool = False) -> dict[int | None, str]:
    cleared = build.with_nic(now, tx_queues=tuple(TxQueue(q.index, CpuSet(), 0) for q in (now.nics or ())[0].tx_queues))
    return {change.target.queue: change.new for change in build.changes(build.solve(XPS, cleared, pinning=pinning))}


def test_a_queue_for_each_cpu_gets_the_cpu_of_its_interrupt() -> None:
    assert mapped(make.snapshot(4, 4)) == {0: "1", 1: "2", 2: "4", 3: "8"}


def test_fewer_queues_than_cpus_share_them_in_turn() -> None:
    assert mapped(make.snapshot(4, 2)) == {0: "5", 1: "a"}
    assert mapped(make.snapshot(8, 3)) == {0: "49", 1: "92", 2: "24"}


def test_more_queues_than_cpus_fold() -> None:
    assert mapped(make.snapshot(2, 4)) == {0: "1", 1: "2", 2: "1", 3: "2"}


def test_maps_follow_interrupts_that_somebody_placed_otherwise() -> None:
    now = make.snapshot(2, 2)
    for irq, cpu in ((32, 1), (34, 0)):
        now = build.with_line(now, irq, affinity=CpuSet.of([cpu]), effective_affinity=CpuSet.of([cpu]))
    assert mapped(now) == {0: "2", 1: "1"}
    assert mapped(now, pinning=True) == {0: "1", 1: "2"}


def test_isolated_cpus_transmit_too() -> None:
    now = replace(make.snapshot(4, 2), cpus=make.topology(4, isolated=CpuSet.of([3])))
    assert mapped(now) == {0: "5", 1: "a"}


def test_a_change_in_full() -> None:
    now = build.with_nic(
        make.snapshot(2, 2), tx_queues=(TxQueue(0, CpuSet.of([0]), 0), TxQueue(1, CpuSet.of([0, 1]), 0))
    )
    (change,) = build.changes(build.solve(XPS, now))
    assert change.where == "/sys/class/net/eth0/queues/tx-1/xps_cpus"
    assert (change.old, change.new) == ("3", "2")
    assert change.do == "echo 2 > /sys/class/net/eth0/queues/tx-1/xps_cpus"
    assert change.undo == "echo 3 > /sys/class/net/eth0/queues/tx-1/xps_cpus"


def test_an_unreadable_map_has_no_undo() -> None:
    now = build.with_nic(make.snapshot(2, 2), tx_queues=(TxQueue(0, CpuSet.of([0]), 0), TxQueue(1, None, 0)))
    answer = build.solve(XPS, now)
    (change,) = build.changes(answer)
    assert (change.old, change.undo) == (None, None)
    assert "tx-1" in build.notes(answer)


def test_one_queue_has_nothing_to_select() -> None:
    assert "one transmit queue" in build.reason(build.solve(XPS, make.snapshot(4, 1)))


def test_queues_that_share_a_vector_are_mapped_in_order() -> None:
    shared = build.with_nic(make.snapshot(4, 2), queue_irqs=(QueueIrq(31, QueueRole.SHARED_QUEUES, None),))
    assert mapped(shared) == {0: "5", 1: "a"}


def test_a_hostile_name_is_quoted() -> None:
    now = build.with_nic(make.snapshot(2, 2), name="$(id)", tx_queues=(TxQueue(0, CpuSet.of([1]), 0),))
    (change,) = build.changes(build.solve(XPS, now, nic="$(id)"))
    assert change.do == "echo 1 > '/sys/class/net/$(id)/queues/tx-0/xps_cpus'"


@given(st.integers(1, 12), st.integers(2, 12))
def test_every_cpu_transmits_somewhere_and_no_map_is_empty(cpus: int, queues: int) -> None:
    maps = mapped(make.snapshot(cpus, queues))
    sets = [CpuSet(int(mask.replace(",", ""), 16)) for mask in maps.values()]
    assert len(sets) == queues
    assert all(sets)
    assert {cpu for one in sets for cpu in one} == set(range(cpus))


def test_maps_do_not_follow_interrupts_that_moved_within_the_interval() -> None:
    before = make.snapshot()
    view = make.view(build.spread(before, 3), before)
    asked = plan(view, (), (build.policy(XPS, name="xps"),), {"xps"})
    assert [one.reason for one in asked.declined if "pin them" in one.reason]


def grouped(*maps: list[int], cpus: int = 4, homes: tuple[int, ...] = (0, 2)) -> Snapshot:
    """As many queues as maps, whose transmit interrupts go to these CPUs."""
    queues = tuple(TxQueue(queue, CpuSet.of(each), 0) for queue, each in enumerate(maps))
    now = build.with_nic(make.snapshot(cpus, len(maps)), tx_queues=queues)
    for queue, cpu in enumerate(homes):
        only = CpuSet.of([cpu])
        now = build.with_line(now, make.FIRST_QUEUE_IRQ + 2 * queue + 1, effective_affinity=only, affinity=only)
    return now


def test_the_drivers_own_even_groups_are_left() -> None:
    assert "already so" in build.reason(build.solve(XPS, grouped([0, 1], [2, 3])))
    assert "already so" in build.reason(build.solve(XPS, grouped([0, 1, 2], [3, 4], cpus=5, homes=(1, 3))))


def test_groups_that_are_uneven_overlap_or_leave_the_interrupt_out_are_not() -> None:
    for maps in (([0, 1, 3], [2]), ([0, 1, 2], [2, 3]), ([1, 3], [0, 2]), ([0, 1], [2])):
        assert build.changes(build.solve(XPS, grouped(*maps))), maps


def test_each_change_says_who_sends_and_where_completions_go() -> None:
    said = [change.why for change in build.changes(build.solve(XPS, grouped([], [], cpus=5)))]
    assert said == [
        "queue 0: its completions come back to CPU 0, and CPUs 1,4 send through it too",
        "queue 1: its completions come back to CPU 2, and CPU 3 sends through it too",
    ]
    shared = build.with_nic(grouped([], []), queue_irqs=(QueueIrq(31, QueueRole.SHARED_QUEUES, None),))
    assert build.changes(build.solve(XPS, shared))[0].why == "queue 0: one of 2, for CPUs 0,2"

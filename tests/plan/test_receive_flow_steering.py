from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.plan import build
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.nic import RxQueue
from tuneagent.model.plan import Declined, TunableKind
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot
from tuneagent.plan.situation import Solution

SPREAD = CpuSet.of([2, 3])


def machine(*flow_counts: int | None, entries: int | None = 0, cpus: CpuSet = SPREAD) -> Snapshot:
    now = make.snapshot(queues=len(flow_counts))
    queues = tuple(RxQueue(index, cpus, count) for index, count in enumerate(flow_counts))
    return replace(build.with_nic(now, rx_queues=queues), rps_sock_flow_entries=entries)


def solve(now: Snapshot, flows: int = 32_768) -> Solution | Declined:
    return build.solve(Action.RECEIVE_FLOW_STEERING, now, flows=flows)


def test_the_table_and_a_share_of_it_for_each_queue() -> None:
    table, *counts = build.changes(solve(machine(0, 0)))
    assert (table.kind, table.old, table.new) == (TunableKind.RPS_SOCK_FLOW_ENTRIES, "0", "32768")
    assert table.do == "echo 32768 > /proc/sys/net/core/rps_sock_flow_entries"
    assert [(one.kind, one.target.queue, one.target.queue_role, one.new) for one in counts] == [
        (TunableKind.RPS_FLOW_COUNT, 0, "rx", "16384"),
        (TunableKind.RPS_FLOW_COUNT, 1, "rx", "16384"),
    ]
    assert counts[1].undo == "echo 0 > /sys/class/net/eth0/queues/rx-1/rps_flow_cnt"


def test_numbers_are_what_the_kernel_makes_of_them() -> None:
    table, *counts = build.changes(solve(machine(0, 0, 0), flows=1_000))
    assert (table.new, {one.new for one in counts}) == ("1024", {"512"})


def test_a_table_that_somebody_chose_stays() -> None:
    counts = build.changes(solve(machine(0, 0, entries=4096)))
    assert {(one.kind, one.new) for one in counts} == {(TunableKind.RPS_FLOW_COUNT, "2048")}
    (last,) = build.changes(solve(machine(64, 0, entries=4096)))
    assert last.target.queue == 1
    assert "already so: 4096 flows" in build.reason(solve(machine(64, 32, entries=4096)))


def test_a_table_that_could_not_be_read_has_no_undo() -> None:
    answer = solve(machine(0, entries=None))
    table = build.changes(answer)[0]
    assert (table.old, table.undo) == (None, None)
    assert "rps_sock_flow_entries could not be read" in build.notes(answer)


def test_without_a_map_there_is_nobody_to_hand_to() -> None:
    assert "rps-spread comes first" in build.reason(solve(machine(0, 0, cpus=CpuSet())))


def test_one_cpu_is_no_operation() -> None:
    now = replace(machine(0), cpus=make.topology(1))
    assert "one CPU" in build.reason(solve(now))
    assert "not known" in build.reason(solve(replace(now, cpus=None)))

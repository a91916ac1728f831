from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests import make
from tests.plan import build
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import Channels
from tuneagent.model.topology import CpuTopology
from tuneagent.plan.placement import candidates, homes, place

THREADED = replace(
    make.topology(8),
    cores=tuple(CpuSet.of([cpu, cpu + 1]) for cpu in range(0, 8, 2)),
    nodes={0: CpuSet.of(range(4)), 1: CpuSet.of(range(4, 8))},
)


def placed(topology: CpuTopology, queues: int) -> list[int]:
    return list(place(topology, [make.nic(queues)])["eth0"].values())


def test_queue_n_goes_to_the_nth_cpu() -> None:
    assert place(make.topology(12), [make.nic(12)])["eth0"] == {queue: queue for queue in range(12)}


def test_queues_fold_on_the_cpus_that_are_online() -> None:
    online = make.topology(8, online=CpuSet.of([0, 1, 2]))
    assert placed(online, 4) == [0, 1, 2, 0]


def test_one_cpu_takes_everything() -> None:
    assert placed(make.topology(1), 3) == [0, 0, 0]


def test_cpu_ids_with_holes() -> None:
    assert placed(make.topology(16, online=CpuSet.of([1, 5, 9])), 4) == [1, 5, 9, 1]


def test_isolated_and_nohz_full_cpus_are_avoided() -> None:
    topology = make.topology(4, isolated=CpuSet.of([1]), nohz_full=CpuSet.of([2]))
    assert placed(topology, 3) == [0, 3, 0]


def test_all_cpus_isolated_is_as_if_none_were() -> None:
    assert placed(make.topology(2, isolated=CpuSet.of([0, 1])), 2) == [0, 1]


def test_confinement_of_the_agent_does_not_limit_the_placement() -> None:
    assert placed(make.topology(8, confined_to=CpuSet.of([2, 3])), 4) == [0, 1, 2, 3]


def test_cores_come_before_second_threads() -> None:
    assert candidates(THREADED) == (0, 2, 4, 6, 1, 3, 5, 7)


def test_the_nics_node_comes_first() -> None:
    assert candidates(THREADED, 1) == (4, 6, 5, 7, 0, 2, 1, 3)


def test_no_node_and_an_unknown_node_are_no_locality() -> None:
    assert candidates(THREADED, None) == candidates(THREADED, 9) == candidates(THREADED, -1)


def test_queue_order_is_by_index_and_not_by_irq_number() -> None:
    irqs = tuple(
        QueueIrq(irq, role, queue)
        for irq, role, queue in (
            (32, QueueRole.INPUT, 2),
            (33, QueueRole.INPUT, 1),
            (60, QueueRole.INPUT, 0),
            (31, QueueRole.OUTPUT, 0),
        )
    )
    nic = make.nic(3, queue_irqs=irqs)
    assert place(make.topology(4), [nic])["eth0"] == {0: 0, 1: 1, 2: 2}


def test_queues_that_are_not_in_use_are_not_placed() -> None:
    nic = make.nic(4, channels=Channels(combined=2, combined_max=4))
    assert place(make.topology(4), [nic])["eth0"] == {0: 0, 1: 1}


def test_two_single_queue_nics_do_not_meet() -> None:
    nics = [make.nic(1), build.second_nic("eth1", 71, 1, "0000:00:04.0")]
    assert place(make.topology(4), nics) == {"eth0": {0: 0}, "eth1": {0: 1}}
    assert place(make.topology(4), nics[::-1]) == place(make.topology(4), nics)


def test_homes_keep_an_order_that_somebody_else_chose() -> None:
    nic = make.nic(2)
    assert homes(make.topology(2), [nic], nic, {0: 1, 1: 0}) == {0: 1, 1: 0}
    assert homes(make.topology(2), [nic], nic, {0: 1, 1: 1}) == {0: 0, 1: 1}
    assert homes(make.topology(2), [nic], nic, {0: 1}) == {0: 0, 1: 1}


def test_homes_without_interrupts_of_their_own() -> None:
    nic = make.nic(2, queue_irqs=(QueueIrq(31, QueueRole.SHARED_QUEUES, None),))
    assert homes(make.topology(4), [nic], nic, {}) == {0: 0, 1: 1}


cpu_sets = st.sets(st.integers(0, 40), max_size=12).map(CpuSet.of)


@st.composite
def topologies(draw: st.DrawFn) -> CpuTopology:
    online = CpuSet.of(draw(st.sets(st.integers(0, 40), min_size=1, max_size=12)))
    half = CpuSet.of(cpu for cpu in online if cpu % 2)
    cores = tuple(CpuSet.of(c for c in online if c // 2 == core) for core in sorted({c // 2 for c in online}))
    nodes = {0: half, 1: online - half}
    return CpuTopology(online, None, draw(cpu_sets), draw(cpu_sets), nodes, cores)


@given(topologies(), st.integers(1, 20), st.sampled_from([None, 0, 1, 5]))
def test_every_pair_is_on_one_housekeeping_cpu(topology: CpuTopology, queues: int, node: int | None) -> None:
    nic = make.nic(queues, node=node)
    chosen = place(topology, [nic])["eth0"]
    assert list(chosen) == list(range(queues))
    assert CpuSet.of(chosen.values()) <= topology.housekeeping
    loads = [list(chosen.values()).count(cpu) for cpu in topology.housekeeping]
    assert max(loads) - min(loads) <= 1
    assert place(topology, [nic])["eth0"] == chosen

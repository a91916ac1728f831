from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.diagnose.views import at, clear, finding, plain_nic, single, unjudged, value, with_irqs, with_nic
from tuneagent.diagnose.xps_mismatch import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.nic import TxQueue
from tuneagent.model.snapshot import Snapshot


def mapped(*maps: list[int] | None, cpus: int = 4) -> Snapshot:
    queues = tuple(TxQueue(q, None if each is None else CpuSet.of(each), 0) for q, each in enumerate(maps))
    return with_nic(make.snapshot(cpus, len(maps)), tx_queues=queues)


def test_one_queue_for_all_cpus_is_a_warning() -> None:
    found = finding(judge, single(mapped([0, 1, 2, 3], [], [], [])))
    assert (found.severity, found.queues, found.cpus) == (Severity.WARNING, (0,), (0, 1, 2, 3))


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        (([], [], [], []), "no XPS map"),
        (([0], [1], [3], [2]), "transmit queues 2, 3"),
        (([0, 1, 2], [1, 2, 3]), "maps 4 CPUs to several of 2 transmit queues"),
    ],
)
def test_what_is_worth_knowing(maps: tuple[list[int], ...], words: str) -> None:
    found = finding(judge, single(mapped(*maps)))
    assert found.severity is Severity.INFO
    assert words in found.title


def test_the_drivers_even_groups_are_clear() -> None:
    clear(judge, single(mapped([0, 2], [1, 3])))


def test_a_queue_a_cpu_is_clear() -> None:
    assert value(clear(judge, make.view()), "tx3_xps_cpus") == "3"


def test_offline_cpus_in_a_map_do_not_count() -> None:
    clear(judge, single(mapped([0, 4], [1, 5], [2, 6], [3, 7])))


def test_an_unreadable_map_is_not_judged() -> None:
    unjudged(judge, single(mapped([0], [1], None, [3])))
    unjudged(judge, single(replace(mapped([0], [1]), cpus=None)))


def test_nothing_with_one_queue_one_cpu_or_no_device() -> None:
    assert judge(make.view(make.snapshot(4, 1))) == ()
    assert judge(single(mapped([0], [], cpus=1))) == ()
    bridge = plain_nic("br0", tx_queues=mapped([], []).nics[0].tx_queues)  # type: ignore[index]  # the builder has one
    assert judge(single(replace(make.snapshot(), nics=(bridge,)))) == ()


def test_cpus_in_no_map_are_no_fault() -> None:
    # A hash of the flow chooses for CPU 3; mapping only the CPU that takes the interrupt is the faster layout.
    clear(judge, single(mapped([0], [1], [2], [])))


def test_queues_of_cpus_set_apart_need_no_interrupt_there() -> None:
    # The interrupts of queues 2 and 3 are at CPUs 0 and 1, away from the CPUs that send through them.
    apart = with_irqs(mapped([0], [1], [2], [3]), at({35: 0, 36: 0, 37: 1, 38: 1}))
    assert "transmit queues 2, 3" in finding(judge, single(apart)).title
    clear(judge, single(replace(apart, cpus=make.topology(4, isolated=CpuSet.of([2, 3])))))


def test_another_driver_may_do_without_maps() -> None:
    clear(judge, single(with_nic(mapped([], [], [], []), virtio=None, driver="hv_netvsc")))
    assert finding(judge, single(with_nic(mapped([0, 1], [], [], []), virtio=None))).severity is Severity.WARNING

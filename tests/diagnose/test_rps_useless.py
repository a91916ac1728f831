from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.diagnose.views import clear, finding, rates, single, unjudged, value, with_nic
from tuneagent.diagnose.rps_useless import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.nic import RxQueue
from tuneagent.model.snapshot import Snapshot


def steering(*masks: list[int] | None, cpus: int = 4) -> Snapshot:
    queues = tuple(RxQueue(q, None if each is None else CpuSet.of(each), 0) for q, each in enumerate(masks))
    return with_nic(make.snapshot(cpus, len(masks)), rx_queues=queues)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (steering([0], cpus=1), "one CPU"),
        (steering([1, 2, 9]), "CPU 9, not online"),
        (steering([0]), "the CPU that they arrive on"),
        (steering([1], [2], [3], [0]), "each CPU has a queue"),
    ],
)
def test_where_it_cannot_help(machine: Snapshot, words: str) -> None:
    found = finding(judge, single(machine))
    assert found.severity is Severity.INFO
    assert words in found.title


def test_the_cpu_of_arrival_is_where_interrupts_fell() -> None:
    one = steering([2], [])
    clear(judge, single(one))
    finding(judge, rates({31: {2: 800}}, one))


def test_cpus_set_apart_are_disturbed() -> None:
    apart = replace(steering([1, 3], []), cpus=make.topology(4, nohz_full=CpuSet.of([3])))
    assert finding(judge, single(apart)).severity is Severity.WARNING


def test_spreading_one_queue_is_clear() -> None:
    assert value(clear(judge, single(steering([0, 1, 2, 3]))), "rx0_rps_cpus") == "0-3"


def test_off_is_clear_even_with_one_cpu() -> None:
    assert value(clear(judge, single(steering([], cpus=1))), "rx0_rps_cpus") == "off"


def test_unknown_masks_are_not_off() -> None:
    unjudged(judge, single(steering(None)))
    unjudged(judge, single(replace(steering([1]), cpus=None)))


def test_nothing_without_a_device() -> None:
    assert judge(single(with_nic(steering([0]), bus_address=None))) == ()

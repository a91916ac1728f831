"""Queues that are not switched on: virtio_net has a vector for every pair that the device offers, and uses some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests import make
from tests.diagnose.views import Judge, at, balanced, clear, finding, rates, single, with_irqs, with_nic
from tuneagent.diagnose import (
    interrupt_spread,
    interrupt_storm,
    irqbalance_fights_pins,
    irqbalance_in_guest,
    queue_pair_split,
    queues_share_cpu,
    xps_mismatch,
)
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import IrqLine, QueueIrq, QueueRole
from tuneagent.model.nic import Channels
from tuneagent.model.snapshot import Snapshot

OFF = tuple(range(35, 39))
"""Interrupts of pairs 2 and 3."""


def two_of_four(*, on: int = 2, change: Callable[[IrqLine], IrqLine] | None = None) -> Snapshot:
    """Pairs 0 and 1 on CPUs 0 and 1; 2 and 3 are there and piled on CPU 0, apart from each other."""
    piled = with_irqs(make.snapshot(), at({35: 0, 36: 1, 37: 0, 38: 1}))
    if change is not None:
        piled = with_irqs(piled, change)
    return with_nic(piled, channels=Channels(combined=on, combined_max=4))


@pytest.mark.parametrize("judge", [queue_pair_split.judge, queues_share_cpu.judge, xps_mismatch.judge])
def test_the_place_of_a_queue_that_is_off_is_no_fault(judge: Judge) -> None:
    clear(judge, single(two_of_four()))
    assert {2, 3} <= set(finding(judge, single(two_of_four(on=4))).queues)


def test_a_pin_of_a_queue_that_is_off_is_none() -> None:
    found = finding(irqbalance_fights_pins.judge, single(balanced(two_of_four())))
    assert (found.irqs, found.queues) == ((31, 32, 33, 34), (0, 1))


def test_the_driver_places_the_queues_that_are_on() -> None:
    def hinted(line: IrqLine) -> IrqLine:
        return line if line.irq in OFF else replace(line, affinity_hint=line.affinity)

    found = finding(irqbalance_in_guest.judge, single(balanced(two_of_four(change=hinted))))
    assert (found.irqs, found.queues) == ((31, 32, 33, 34), (0, 1))


def test_one_pair_on_is_no_work_for_irqbalance() -> None:
    assert irqbalance_in_guest.judge(single(balanced(two_of_four(on=1)))) == ()


def test_a_queue_that_was_switched_off_is_not_said_to_bounce() -> None:
    fell = {31: {0: 500}, 37: {0: 200, 3: 300}}
    clear(interrupt_spread.judge, rates(fell, two_of_four()))
    assert finding(interrupt_spread.judge, rates(fell, two_of_four(on=4))).irqs == (37,)


def test_a_storm_names_a_vector_of_a_queue_that_is_off() -> None:
    rate = make.nic_rate(2, interrupts_per_sec=90_000.0, rx_packets_per_sec=3.0, tx_packets_per_sec=2.0)
    cpus = {0: make.cpu_rate(0, softnet_processed_per_sec=5.0)}
    view = rates({31: {0: 7}, 37: {1: 180_000}}, two_of_four(), nics={"eth0": rate}, cpus=cpus)
    assert finding(interrupt_storm.judge, view).irqs == (37, 31)


def test_one_vector_for_all_queues_is_always_in_use() -> None:
    shared = QueueIrq(31, QueueRole.SHARED_QUEUES, None)
    machine = with_nic(two_of_four(), queue_irqs=(shared,))
    view = rates({31: {0: 400, 1: 600}}, with_irqs(machine, lambda line: replace(line, affinity=CpuSet.of(range(4)))))
    assert finding(interrupt_spread.judge, view).irqs == (31,)

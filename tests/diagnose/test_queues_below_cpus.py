from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.diagnose.views import clear, finding, single, unjudged, value, with_nic
from tuneagent.diagnose.queues_below_cpus import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.nic import Channels
from tuneagent.model.snapshot import Snapshot


def offering(in_use: int, offered: int | None, cpus: int = 4) -> Snapshot:
    channels = Channels(combined=in_use, combined_max=offered) if offered else None
    return with_nic(make.snapshot(cpus, in_use), channels=channels)


def test_one_of_eight_queues_on_four_cpus() -> None:
    found = finding(judge, single(offering(1, 8)))
    assert found.severity is Severity.WARNING
    assert (value(found, "queue_pairs"), value(found, "queue_pairs_offered"), value(found, "cpus_online")) == (1, 8, 4)
    assert "1 of 4" in found.title


@pytest.mark.parametrize(("in_use", "offered"), [(4, 8), (2, 2), (1, 1), (6, 8)])
def test_as_many_as_there_can_be_is_clear(in_use: int, offered: int) -> None:
    clear(judge, single(offering(in_use, offered)))


def test_a_device_without_multiqueue_offers_one() -> None:
    base = offering(1, None)
    plain = tuple(replace(one, features=frozenset({29, 32})) for one in base.virtio or ())
    clear(judge, single(replace(base, virtio=plain)))


def test_receive_and_transmit_queues_apart_are_no_pairs() -> None:
    apart = with_nic(make.snapshot(8, 4), channels=Channels(rx=4, rx_max=8, tx=2, tx_max=16))
    found = finding(judge, single(apart))
    assert "4 receive queues and 2 transmit queues" in found.title
    assert "4 of 8 receive queues and 2 of 16 transmit queues" in found.explanation
    assert "pair" not in found.title + found.explanation
    assert (value(found, "rx_queues"), value(found, "tx_queues_offered")) == (4, 16)
    clear(judge, single(with_nic(apart, channels=Channels(rx=8, rx_max=8, tx=9, tx_max=16))))
    unjudged(judge, single(with_nic(apart, channels=Channels(rx=4, tx=2, tx_max=16))))


def test_an_unknown_offer_is_not_judged() -> None:
    assert not unjudged(judge, single(offering(1, None))).idle
    unjudged(judge, single(replace(offering(1, 8), cpus=None)))


def test_nothing_with_one_cpu() -> None:
    assert judge(single(offering(1, 8, cpus=1))) == ()


def test_cpus_set_apart_need_no_queue() -> None:
    topology = make.topology(8, isolated=CpuSet.of([2, 3, 4]), nohz_full=CpuSet.of(range(3, 8)))
    clear(judge, single(replace(offering(2, 8, cpus=8), cpus=topology)))
    found = finding(judge, single(replace(offering(1, 8, cpus=8), cpus=topology)))
    assert "1 of 2" in found.title
    assert "8 CPUs online, 2 of them not set apart: 2 could" in found.explanation
    apart = with_nic(make.snapshot(8, 4), channels=Channels(rx=2, rx_max=8, tx=3, tx_max=16))
    clear(judge, single(replace(apart, cpus=topology)))

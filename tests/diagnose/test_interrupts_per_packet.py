from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make
from tests.diagnose.views import clear, finding, single, unjudged, value
from tuneagent.diagnose.interrupts_per_packet import judge
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View

TABLE_RX_PACKETS_PER_SEC = 86_496.0


def loaded(ratio: float | None, packets: float | None = TABLE_RX_PACKETS_PER_SEC, **changes: Any) -> View:
    rate = make.nic_rate(1, rx_packets_per_sec=packets, rx_interrupts_per_packet=ratio, **changes)
    return make.view(make.snapshot(2, 1), queues=1, nics={"eth0": rate})


def without_event_index() -> Snapshot:
    base = make.snapshot(2, 1)
    return replace(
        base, virtio=tuple(replace(one, features=one.features - {29}) for one in base.virtio or () if one.features)
    )


@pytest.mark.parametrize("ratio", [0.120, 0.131])
def test_the_small_packet_table_without_event_index_has_too_many(ratio: float) -> None:
    found = finding(judge, loaded(ratio))
    assert value(found, "rx_interrupts_per_packet") == ratio
    assert value(found, "packets_per_sec") == TABLE_RX_PACKETS_PER_SEC
    assert "event index is on" in found.explanation


def test_the_missing_event_index_is_named_as_the_cause() -> None:
    assert "is off" in finding(judge, replace(loaded(0.120), after=without_event_index())).explanation


@pytest.mark.parametrize("ratio", [0.061, 0.064])
def test_the_small_packet_table_with_event_index_is_clear(ratio: float) -> None:
    clear(judge, loaded(ratio))


def test_few_interrupts_are_clear_at_a_light_load_too() -> None:
    clear(judge, loaded(0.05, 1_500.0))


def test_one_interrupt_a_packet_is_normal_for_one_connection() -> None:
    said = unjudged(judge, loaded(1.0, 15_000.0))
    assert said.idle
    assert "one connection" in said.reason


def test_load_is_that_of_the_busiest_queue() -> None:
    spread = make.nic_rate(4, rx_packets_per_sec=60_000.0, rx_interrupts_per_packet=1.0)
    assert unjudged(judge, make.view(nics={"eth0": spread})).idle
    queues = (replace(spread.queues[0], rx_packets_per_sec=45_000.0), *spread.queues[1:])
    finding(judge, make.view(nics={"eth0": replace(spread, queues=queues)}))


def test_shared_vectors_are_judged_by_packets_of_both_directions() -> None:
    found = finding(judge, loaded(None, interrupts_per_packet=0.3))
    assert value(found, "interrupts_per_packet") == 0.3
    assert value(found, "packets_per_sec") == TABLE_RX_PACKETS_PER_SEC + 20_000.0


def test_unknowns_are_not_judged() -> None:
    assert unjudged(judge, single(make.snapshot())).reason == "one sample"
    assert not unjudged(judge, loaded(0.5, None)).idle
    assert not unjudged(judge, loaded(None, interrupts_per_packet=None)).idle


def test_an_idle_nic_is_too_little_traffic() -> None:
    assert unjudged(judge, loaded(1.0, 12.0)).idle


def test_nothing_without_a_virtio_nic() -> None:
    assert judge(make.view(replace(make.snapshot(), nics=()))) == ()

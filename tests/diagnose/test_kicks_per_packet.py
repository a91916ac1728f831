from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import clear, finding, single, unjudged, value
from tuneagent.diagnose.kicks_per_packet import judge
from tuneagent.model.view import View


def sending(ratio: float | None, packets: float | None = 86_000.0) -> View:
    rate = make.nic_rate(1, tx_packets_per_sec=packets, tx_kicks_per_packet=ratio)
    return make.view(make.snapshot(2, 1), queues=1, nics={"eth0": rate})


def test_a_kick_a_packet_under_load_is_too_many() -> None:
    found = finding(judge, sending(0.97))
    assert (value(found, "tx_kicks_per_packet"), value(found, "tx_packets_per_sec")) == (0.97, 86_000.0)


def test_few_kicks_are_clear() -> None:
    clear(judge, sending(0.49))


def test_a_kick_a_packet_is_normal_for_one_connection() -> None:
    assert unjudged(judge, sending(1.0, 12_000.0)).idle


def test_too_little_traffic_and_unknowns_differ() -> None:
    assert unjudged(judge, sending(1.0, 900.0)).idle
    assert not unjudged(judge, sending(None)).idle
    assert not unjudged(judge, sending(0.2, None)).idle
    assert unjudged(judge, single()).reason == "one sample"


def test_nothing_without_a_virtio_nic() -> None:
    assert judge(make.view(replace(make.snapshot(), nics=()))) == ()

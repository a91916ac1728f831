from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make_hypervisor as make
from tests.diagnose.hypervisors import counted, many, quiet_tap, with_interface
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.exits_per_packet import judge
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Severity
from tuneagent.model.view import View


def loaded(exits: float, packets: float, halts: float | None = None, **changes: Any) -> View:
    """One queue pair, half of the packets each way."""
    rates = {"exits": exits} if halts is None else {"exits": exits, "halt_exits": halts}
    domain = with_interface(queues=1)
    tap = replace(domain.taps[0], to_guest_packets_per_sec=packets / 2, from_guest_packets_per_sec=packets / 2)
    return make.host_view(replace(domain, kvm=counted(rates), taps=(tap,), **changes))


@pytest.mark.parametrize(("exits", "packets"), [(148_444.58, 172_992.0), (121_050.45, 214_006.0)])
def test_without_the_event_index_the_small_packet_table_has_too_many(exits: float, packets: float) -> None:
    found = finding(judge, loaded(exits, packets))
    assert found.severity is Severity.WARNING
    assert value(found, "exits_per_packet") == pytest.approx(exits / packets)


@pytest.mark.parametrize(("exits", "packets"), [(96_280.11, 222_878.33), (97_190.68, 220_315.67)])
def test_with_the_event_index_it_has_not(exits: float, packets: float) -> None:
    clear(judge, loaded(exits, packets))


def test_idle_halts_are_left_out() -> None:
    said = clear(judge, loaded(60_000.0, 60_000.0, halts=31_000.0))
    assert value(said, "exits_not_idle_per_packet") == pytest.approx(29 / 60)
    assert "31,000/s idle halts left out" in finding(judge, loaded(90_000.0, 60_000.0, halts=31_000.0)).explanation


def test_one_connection_has_one_a_packet_by_nature() -> None:
    said = unjudged(judge, loaded(30_000.0, 30_000.0))
    assert said.idle
    assert "1 exits a packet are normal for one connection" in said.reason


def test_load_is_that_of_a_queue_that_can_be_at_work() -> None:
    domain = with_interface(make.domain(vcpus=4), queues=4)
    assert unjudged(judge, make.host_view(domain)).idle
    finding(judge, make.host_view(with_interface(make.domain(vcpus=2), queues=4)))


def test_little_traffic_is_told_together() -> None:
    still = make.domain_view(taps=(quiet_tap(),))
    assert "12 packets/s through its taps" in unjudged(judge, make.host_view(still)).reason
    said = unjudged(judge, make.host_view(*many(3, still)))
    assert (said.idle, said.reason) == (True, "too little traffic to judge (3: web0, web1, web2)")


def test_packets_that_no_tap_sees_are_not_guessed() -> None:
    other = make.domain_interface(position=1, type="hostdev", model=None, target=None)
    apart = make.domain_view(definition=make.domain(interfaces=(make.domain_interface(), other)))
    views: tuple[DomainView, ...] = (apart, make.domain_view(taps=()), make.domain_view(kvm=None, kvm_reason="locked"))
    assert [unjudged(judge, make.host_view(one)).reason for one in views] == [
        "a part of the packets passes no tap and is not counted here",
        "the packets through the taps are not known",
        "locked",
    ]


def test_the_guests_own_figure_stands_beside_it() -> None:
    found = finding(judge, make.host_view(make.domain_view(guest=make.guest())))
    assert value(found, "exits_per_guest_packet") == 1.02

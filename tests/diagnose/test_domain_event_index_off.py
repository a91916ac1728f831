from __future__ import annotations

from dataclasses import replace

from tests import make as guests
from tests import make_hypervisor as make
from tests.diagnose.hypervisors import quiet_tap, still, with_interface
from tests.diagnose.views import clear, finding, value
from tuneagent.diagnose.domain_event_index_off import judge
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Severity
from tuneagent.model.virtio import Feature


def stored(*, running: bool | None, later: bool | None) -> DomainView:
    pending = make.domain(interfaces=(make.domain_interface(event_idx=later, target=None),))
    return with_interface(make.domain(pending=pending), event_idx=running)


def of_guest(*, negotiated: bool) -> DomainView:
    seen = guests.snapshot(queues=2)
    features = guests.FEATURES if negotiated else guests.FEATURES - {Feature.RING_EVENT_IDX}
    device = replace((seen.virtio or ())[0], features=features)
    return make.domain_view(guest=make.guest(view=guests.view(replace(seen, virtio=(device,)))))


def test_off_under_load_is_a_warning_and_idle_worth_knowing() -> None:
    off = with_interface(event_idx=False)
    found = finding(judge, make.host_view(off))
    assert (found.subject, found.severity) == ("domain web1 vnet0", Severity.WARNING)
    assert found.title == "vnet0 of web1 runs without the event index"
    assert value(found, "packets_per_sec") == 60_000.0
    idle = replace(quiet_tap(), interface=off.taps[0].interface)
    assert finding(judge, make.host_view(replace(off, taps=(idle,)))).severity is Severity.INFO


def test_one_sample_and_no_tap_still_warn() -> None:
    off = replace(with_interface(event_idx=False), taps=())
    assert finding(judge, still(make.host_view(off))).severity is Severity.WARNING


def test_absent_means_on_and_what_is_no_virtio_is_not_looked_at() -> None:
    assert value(clear(judge, make.host_view()), "event_idx") == "on"
    assert judge(make.host_view(with_interface(model="e1000e", event_idx=False))) == ()


def test_the_stored_definition_counts_later() -> None:
    found = finding(judge, make.host_view(stored(running=False, later=None)))
    assert "stored definition has it on: that counts from the next cold start on" in found.explanation
    will = finding(judge, make.host_view(stored(running=None, later=False)))
    assert (will.severity, value(will, "event_idx_stored")) == (Severity.INFO, "off")
    assert "loses the event index at the next cold start" in will.title


def test_a_guest_that_did_not_take_it_is_told() -> None:
    found = finding(judge, make.host_view(of_guest(negotiated=False)))
    assert "The guest says that it was not negotiated" in found.explanation
    assert value(clear(judge, make.host_view(of_guest(negotiated=True))), "event_idx_by_guest") == "negotiated"


def test_a_guest_cannot_take_a_finding_away_and_the_monitor_can() -> None:
    lying = replace(with_interface(event_idx=False), guest=of_guest(negotiated=True).guest)
    finding(judge, make.host_view(lying))
    clear(judge, make.host_view(replace(lying, virtio=(make.virtio_status(),))))
    refused = make.domain_view(virtio=(make.virtio_status(features=frozenset({"VIRTIO_NET_F_MQ: multiqueue"})),))
    assert "QEMU says" in finding(judge, make.host_view(refused)).explanation

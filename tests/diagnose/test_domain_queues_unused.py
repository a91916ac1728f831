from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make as guests
from tests import make_hypervisor as make
from tests.diagnose.hypervisors import still, with_interface
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.domain_queues_unused import judge
from tuneagent.model.domain import Domain
from tuneagent.model.domain_view import DomainView, Guest
from tuneagent.model.finding import Severity
from tuneagent.model.nic import Channels


def four(pairs: int = 4, stored: int | None = None, **tap: Any) -> DomainView:
    pending = make.domain(interfaces=(make.domain_interface(queues=stored),)) if stored else None
    domain = with_interface(make.domain(vcpus=4, pending=pending), queues=pairs)
    (rate,) = domain.taps
    return replace(domain, taps=(replace(rate, tap=make.tap(**{"queues": pairs, **tap})),))


def looked_into(domain: DomainView, used: int, offered: int) -> DomainView:
    interface = domain.taps[0].interface
    nic = guests.nic(2, channels=Channels(combined=used, combined_max=offered))
    assert interface is not None
    guest: Guest = make.guest(nics=(make.joined_nic(interface=interface, nic=nic),))
    return replace(domain, guest=guest)


def test_a_single_queue_tap_cannot_have_them() -> None:
    found = finding(judge, still(make.host_view(four(multi_queue=False, queues=1))))
    assert (found.subject, found.severity) == ("domain web1 vnet0", Severity.WARNING)
    assert found.title == "vnet0 of web1: 4 queue pairs configured, 1 effective at most"
    assert "IFF_MULTI_QUEUE" in found.explanation
    assert "no change of the definition acts at once" in found.explanation


def test_a_guest_that_is_offered_fewer_needs_a_tap_or_a_cold_start() -> None:
    found = finding(judge, make.host_view(looked_into(four(), used=1, offered=1)))
    assert found.severity is Severity.WARNING
    assert "4 queue pairs configured, 1 effective" in found.title
    assert (value(found, "queue_pairs_offered_to_guest"), value(found, "queue_pairs_on_tap")) == (1, 4)


def test_a_guest_that_switched_on_fewer() -> None:
    found = finding(judge, make.host_view(looked_into(four(), used=2, offered=4)))
    assert (found.severity, found.title) == (Severity.INFO, "vnet0 of web1 uses 2 of 4 queue pairs")
    assert "ethtool -L" in found.explanation
    by_tap = finding(judge, make.host_view(four(queues=3)))
    assert by_tap.title == "vnet0 of web1 uses 3 of 4 queue pairs"


def test_what_waits_for_a_cold_start() -> None:
    found = finding(judge, make.host_view(four(stored=8)))
    assert (found.severity, found.title) == (Severity.INFO, "vnet0 of web1 gets 8 queue pairs at the next cold start")
    assert "a reboot is none" in found.explanation
    lone = finding(judge, make.host_view(four(1, stored=3)))
    assert value(lone, "queue_pairs_stored") == 3


def test_the_monitor_tells_what_is_set_up() -> None:
    domain = replace(four(), virtio=(make.virtio_status(queues_active=2),))
    assert value(finding(judge, make.host_view(domain)), "queue_pairs_in_use") == 2


def test_all_in_use_is_clear_and_more_than_vcpus_are_not_missed() -> None:
    clear(judge, make.host_view(four()))
    clear(judge, make.host_view(looked_into(replace(four(), definition=_two_vcpus()), used=2, offered=4)))


def _two_vcpus() -> Domain:
    return make.domain(vcpus=2, interfaces=(make.domain_interface(queues=4),))


def test_one_queue_is_no_question_and_the_unseen_is_not_judged() -> None:
    assert judge(make.host_view(four(1))) == ()
    unjudged(judge, make.host_view(replace(four(), taps=())))

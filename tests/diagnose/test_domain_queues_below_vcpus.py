from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make as guests
from tests import make_hypervisor as make
from tests.diagnose.hypervisors import still, thread, with_interface
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.domain_queues_below_vcpus import judge
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Clear, Finding, Severity
from tuneagent.model.hypervisor import ThreadRole


def sized(queues: int | None, vcpus: int | None, worker: float = 40.0, **changes: Any) -> DomainView:
    domain = with_interface(make.domain(vcpus=vcpus, vcpus_max=vcpus, **changes), queues=queues)
    return replace(domain, threads=(thread(ThreadRole.VHOST, worker, 1.5),))


def test_one_queue_for_many_vcpus_is_worth_knowing() -> None:
    found = finding(judge, make.host_view(sized(None, 4)))
    assert (found.subject, found.severity) == ("domain web1 vnet0", Severity.INFO)
    assert found.title == "vnet0 of web1 has 1 queue pair for 4 vCPUs"
    assert finding(judge, still(make.host_view(sized(1, 8)))).severity is Severity.INFO


def test_a_worker_that_is_nearly_full_makes_it_a_warning() -> None:
    found = finding(judge, make.host_view(sized(2, 3, worker=88.0)))
    assert found.severity is Severity.WARNING
    assert value(found, "busiest_vhost_worker_percent") == 88.0


def test_whose_worker_is_full_is_not_guessed() -> None:
    big, small = make.domain_interface(queues=1), make.domain_interface(position=1, queues=1, mac="b", target="vnet1")
    taps = (
        make.tap_rate(interface=big),
        make.tap_rate(interface=small, to_guest_packets_per_sec=9.0, from_guest_packets_per_sec=8.0),
    )
    domain = replace(sized(1, 2, 99.0), definition=make.domain(interfaces=(big, small)), taps=taps)
    said = {one.subject: type(one) for one in judge(make.host_view(domain))}
    assert said == {"domain web1 vnet0": Finding, "domain web1 vnet1": Clear}


def test_a_guest_cpu_full_of_softirqs_makes_it_a_warning() -> None:
    seen = guests.view(queues=2, cpus={0: guests.cpu_rate(0, softirq_percent=91.0)})
    found = finding(judge, make.host_view(replace(sized(1, 2), guest=make.guest(view=seen))))
    assert found.severity is Severity.WARNING
    assert "spends 91 % in softirqs" in found.explanation


def test_enough_queues_and_small_machines_are_clear() -> None:
    clear(judge, make.host_view(sized(4, 4, worker=99.0)))
    clear(judge, make.host_view(sized(1, 3)))


def test_vcpus_unknown() -> None:
    unjudged(judge, make.host_view(sized(1, None)))

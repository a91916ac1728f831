from __future__ import annotations

from dataclasses import replace

from tests import make as guests
from tests import make_hypervisor as make
from tests.diagnose.hypervisors import still, thread
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.vcpus_overcommitted import judge
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Severity
from tuneagent.model.hypervisor import ThreadRole


def waiting(*waits: float | None) -> DomainView:
    threads = (thread(ThreadRole.VCPU, 50.0 + n, wait, n) for n, wait in enumerate(waits))
    return make.domain_view(threads=tuple(threads))


def stolen(percent: float, ticks: int = 200) -> DomainView:
    seen = guests.view(queues=2, cpus={1: guests.cpu_rate(1, steal_percent=percent, ticks=ticks)})
    return replace(waiting(None), guest=make.guest(view=seen))


def test_vcpus_that_wait() -> None:
    found = finding(judge, make.host_view(waiting(3.0, 23.0)))
    assert (found.subject, found.severity, found.cpus) == ("domain web1", Severity.WARNING, (3,))
    assert "vCPU 1 could run and had no CPU for up to 23 %" in found.explanation
    assert (value(found, "longest_vcpu_wait_percent"), value(found, "its_cpu_percent")) == (23.0, 51.0)


def test_what_the_guest_says_was_stolen() -> None:
    found = finding(judge, make.host_view(stolen(18.0)))
    assert "18 % of its CPU 1 was stolen" in found.explanation
    assert value(found, "guest_steal_percent") == 18.0
    clear(judge, make.host_view(stolen(2.0)))
    unjudged(judge, make.host_view(stolen(18.0, ticks=20)))


def test_more_vcpus_than_cpus_is_evidence_and_no_finding() -> None:
    crowd = tuple(replace(waiting(2.0, 4.0), name=f"web{n}", key=str(n)) for n in range(5))
    for said in judge(make.host_view(*crowd)):
        facts = {item.metric: item.value for item in getattr(said, "evidence", ())}
        assert (facts["vcpus_of_all_domains"], facts["cpus_online"]) == (10, 4)


def test_unread_threads() -> None:
    unjudged(judge, make.host_view(waiting(None, None)))
    assert unjudged(judge, still(make.host_view())).reason == "one sample"

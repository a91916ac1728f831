from __future__ import annotations

from dataclasses import replace

from tests import make_hypervisor as make
from tests.diagnose.hypervisors import quiet_tap, still, tapped, thread
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.vhost_worker_starved import judge
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Severity
from tuneagent.model.hypervisor import ThreadRole


def timed(*shares: tuple[float | None, float | None], domain: DomainView | None = None) -> DomainView:
    workers = (thread(ThreadRole.VHOST, run, wait, tid=4260 + n) for n, (run, wait) in enumerate(shares))
    return replace(domain or make.domain_view(), threads=tuple(workers))


def test_a_worker_that_waits() -> None:
    found = finding(judge, make.host_view(timed((20.0, 2.0), (35.0, 17.5))))
    assert (found.subject, found.severity) == ("domain web1", Severity.WARNING)
    assert found.title == "1 vhost worker of web1 waits for a CPU"
    assert "Thread 4261" in found.explanation
    assert value(found, "longest_wait_percent") == 17.5


def test_a_worker_that_fills_its_cpu_is_a_limit_and_loss_makes_it_critical() -> None:
    found = finding(judge, make.host_view(timed((97.0, 1.0))))
    assert (found.severity, found.title) == (Severity.WARNING, "1 vhost worker of web1 fills a CPU")
    lossy = timed((97.0, 1.0), domain=tapped(to_guest_drops_per_sec=40.0))
    assert finding(judge, make.host_view(lossy)).severity is Severity.CRITICAL


def test_a_worker_that_polls_is_somebodys_choice() -> None:
    found = finding(judge, make.host_view(timed((99.0, 0.0), domain=make.domain_view(taps=(quiet_tap(),)))))
    assert (found.severity, "polls" in found.explanation) == (Severity.INFO, True)


def test_workers_that_run_when_they_want_to() -> None:
    assert value(clear(judge, make.host_view(timed((60.0, 4.0), (30.0, 6.0)))), "busiest_worker_percent") == 60.0


def test_unread_times_and_no_workers() -> None:
    unjudged(judge, make.host_view(timed((None, None))))
    assert judge(make.host_view(timed())) == ()
    assert unjudged(judge, still(make.host_view(timed((60.0, 4.0))))).reason == "one sample"

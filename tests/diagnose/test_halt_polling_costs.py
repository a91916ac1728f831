from __future__ import annotations

from dataclasses import replace

from tests import make as guests
from tests import make_hypervisor as make
from tests.diagnose.hypervisors import counted, still, thread
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.halt_polling_costs import judge
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Severity
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View


def polling(seconds: float | None, wait: float = 1.5, name: str = "web1") -> DomainView:
    """Polls in vain for so many seconds a second, of two vCPUs."""
    rates = {"exits": 900.0} if seconds is None else {"exits": 900.0, "halt_poll_fail_ns": seconds * 1e9}
    threads = (thread(ThreadRole.VCPU, 60.0, wait, 0),)
    return make.domain_view(name=name, key=name, kvm=counted(rates), threads=threads)


def busy(*domains: DomainView, idle: float = 9.0) -> View:
    return make.host_view(*domains, cpus={cpu: guests.cpu_rate(cpu, idle_percent=idle) for cpu in range(4)})


def test_a_busy_host_that_polls_in_vain() -> None:
    found = finding(judge, busy(polling(0.15), polling(0.11, name="db1")))
    assert (found.subject, found.severity) == ("machine", Severity.WARNING)
    assert found.title == "Polling for halted vCPUs takes 26 % of a CPU in vain"
    assert "web1 most for its size (7.5 % of a vCPU), while the host's CPUs idle for 9 %" in found.explanation
    assert value(found, "halt_poll_ns") == 200_000


def test_one_machine_that_polls_much_while_a_thread_waits() -> None:
    found = finding(judge, busy(polling(0.45, wait=14.0), idle=80.0))
    assert "waited for a CPU for 14 %" in found.explanation


def test_time_that_nobody_wants_may_be_polled_away() -> None:
    said = clear(judge, busy(polling(0.9), idle=80.0))
    assert value(said, "halt_poll_fail_percent_of_a_cpu") == 90.0


def test_a_little_polling_on_a_busy_host() -> None:
    clear(judge, busy(polling(0.03, wait=14.0)))


def test_what_is_not_told() -> None:
    assert unjudged(judge, busy(polling(None))).reason == "KVM tells no halt_poll_fail_ns"
    blind = replace(polling(None), kvm=None, kvm_reason="kernel lockdown")
    assert unjudged(judge, busy(blind, blind)).reason == "kernel lockdown"
    assert unjudged(judge, still(make.host_view())).reason == "one sample"
    assert judge(replace(make.host_view(), hypervisor=None)) == ()

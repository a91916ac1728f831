from __future__ import annotations

from dataclasses import replace

from tests import make as guests
from tests import make_hypervisor as make
from tests.diagnose.hypervisors import counted, quiet_tap, still
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.halt_polling_absent import judge
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Severity
from tuneagent.model.view import View


def host(*domains: DomainView, idle: float = 85.0, **parameters: str) -> View:
    named = {f"kvm.{name}": text for name, text in parameters.items()}
    after = make.host(hypervisor=make.hypervisor(parameters=named))
    cpus = {cpu: guests.cpu_rate(cpu, idle_percent=idle) for cpu in range(4)}
    return make.host_view(*domains, after=after, cpus=cpus)


def halting(per_sec: float, kind: str = "halt_exits") -> DomainView:
    return make.domain_view(kvm=counted({"exits": 40_000.0, kind: per_sec}))


def test_a_guest_that_sleeps_between_packets() -> None:
    found = finding(judge, host(halting(18_000.0), halt_poll_ns="0"))
    assert (found.subject, found.severity) == ("domain web1", Severity.WARNING)
    assert (value(found, "halts_per_sec"), value(found, "halts_per_packet")) == (18_000.0, 0.3)
    finding(judge, host(halting(18_000.0, "wfi_exit_stat"), halt_poll_ns="0"))


def test_on_a_host_without_spare_time_it_is_to_be_weighed() -> None:
    found = finding(judge, host(halting(18_000.0), idle=30.0, halt_poll_ns="0"))
    assert (found.severity, "has to be weighed" in found.explanation) == (Severity.INFO, True)


def test_a_growth_of_nothing_is_no_polling() -> None:
    found = finding(judge, host(halting(18_000.0), halt_poll_ns="200000", halt_poll_ns_grow="0"))
    assert value(found, "halt_poll_ns_grow") == 0


def test_where_it_polls_one_line_says_so() -> None:
    said = clear(judge, host(halting(18_000.0), halting(9_000.0), halt_poll_ns="200000", halt_poll_ns_grow="2"))
    assert (said.subject, value(said, "halt_poll_ns")) == ("machine", 200_000)


def test_few_halts_are_well() -> None:
    clear(judge, host(halting(14_000.0), halt_poll_ns="0"))
    clear(
        judge, host(replace(halting(1_500.0), taps=(make.tap_rate(to_guest_packets_per_sec=900.0),)), halt_poll_ns="0")
    )


def test_unknowns_and_idle() -> None:
    assert unjudged(judge, host(halting(18_000.0))).reason == "kvm.halt_poll_ns is not known"
    unjudged(judge, host(make.domain_view(kvm=counted({"exits": 40_000.0})), halt_poll_ns="0"))
    unjudged(judge, host(replace(halting(9_000.0), taps=()), halt_poll_ns="0"))
    assert unjudged(judge, host(replace(halting(9_000.0), taps=(quiet_tap(),)), halt_poll_ns="0")).idle
    assert unjudged(judge, still(host(halting(18_000.0), halt_poll_ns="0"))).reason == "one sample"

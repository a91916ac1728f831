from __future__ import annotations

from dataclasses import replace

from tests import make_hypervisor as make
from tests.diagnose.hypervisors import counted, defined, many, still
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.exits_rate import judge
from tuneagent.model.domain_view import TOGETHER
from tuneagent.model.finding import Clear, Severity


def test_the_busiest_vcpu_decides_and_the_kinds_come_biggest_first() -> None:
    vcpus = {0: {"exits": 9_000.0}, 1: {"exits": 71_000.0}}
    rate = make.kvm_rate(per_sec={"exits": 80_000.0, "io_exits": 20_000.0, "halt_exits": 31_000.0}, vcpus=vcpus)
    found = finding(judge, make.host_view(make.domain_view(kvm=rate)))
    assert (found.subject, found.severity) == ("domain web1", Severity.WARNING)
    assert found.title == "vCPU 1 of web1 leaves the guest 71,000 times/s"
    assert found.explanation.index("31,000/s halt_exits (the guest went idle)") < found.explanation.index(
        "20,000/s io_"
    )
    assert "29,000/s without a kind" in found.explanation
    assert value(found, "exits_per_sec_per_vcpu") == 71_000.0


def test_totals_are_shared_by_the_vcpus() -> None:
    rate = counted({"exits": 90_000.0})
    assert value(clear(judge, make.host_view(make.domain_view(kvm=rate))), "exits_per_sec_per_vcpu") == 45_000.0
    found = finding(judge, make.host_view(defined(make.domain_view(kvm=rate), vcpus=1)))
    assert found.evidence[0].source == "/sys/kernel/debug/kvm"
    assert "Their kinds are not told" in found.explanation


def test_a_machine_of_unknown_size_is_told_as_such() -> None:
    unknown = make.domain_view(name="pid 4242", definition=None, kvm=counted({"exits": 80_000.0}))
    found = finding(judge, make.host_view(unknown))
    assert found.severity is Severity.INFO
    assert "whose number is not known" in found.explanation
    clear(judge, make.host_view(replace(unknown, kvm=counted({"exits": 10_000.0}))))


def test_without_a_definition_the_vcpus_that_were_seen_share_the_total() -> None:
    one = make.domain_view(definition=None, kvm=counted({"exits": 80_000.0}), vcpus_seen=1)
    assert finding(judge, make.host_view(one)).severity is Severity.WARNING
    clear(judge, make.host_view(replace(one, vcpus_seen=4)))


def test_the_sum_of_a_family_is_called_a_sum() -> None:
    rate = counted({"exits": 120_000.0, "exit_userspace": 80_000.0, "exit_null": 40_000.0}, exits_are_a_sum=True)
    found = finding(judge, make.host_view(make.domain_view(kvm=rate)))
    assert value(found, "exit_family_sum_per_sec") == 120_000.0
    assert "without a kind" not in found.explanation


def test_unseen_exits_are_told_once_for_all() -> None:
    blind = make.domain_view(kvm=None, kvm_reason="kernel lockdown")
    assert unjudged(judge, make.host_view(blind)).subject == "domain web1"
    said = unjudged(judge, make.host_view(*many(3, blind)))
    assert (said.subject, said.reason) == (
        "domains",
        "kernel lockdown (3: web0, web1, web2)",
    )


def test_many_that_are_well_are_one_line_with_the_largest_numbers() -> None:
    low = many(40, make.domain_view(kvm=counted({"exits": 500.0})))
    high = make.domain_view(kvm=counted({"exits": 700.0}))
    said = clear(judge, make.host_view(*low, high))
    assert (said.subject, value(said, "judged_well"), value(said, "largest_exits_per_sec")) == ("domains", 41, 700.0)


def test_the_one_that_was_asked_for_keeps_its_line() -> None:
    plain = make.domain_view(kvm=counted({"exits": 500.0}))
    said = judge(make.host_view(replace(plain, guest=make.guest()), *many(20, plain)))
    assert [(type(one), one.subject) for one in said] == [(Clear, "domain web1"), (Clear, "domains")]


def test_a_sum_over_all_virtual_machines_is_nobodys() -> None:
    every = make.domain_view(key=TOGETHER, name=TOGETHER, definition=None, kvm=counted({"exits": 900_000.0}))
    assert unjudged(judge, make.host_view(every)).reason == "the exits of all virtual machines are told together"
    assert clear(judge, make.host_view(every, make.domain_view(kvm=counted({"exits": 9.0})))).subject == "domain web1"


def test_no_interval_and_no_hypervisor() -> None:
    assert unjudged(judge, still(make.host_view())).reason == "one sample"
    assert judge(make.host_view(defined(running=False))) == ()
    assert judge(replace(make.host_view(), hypervisor=None)) == ()

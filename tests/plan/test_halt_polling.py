from __future__ import annotations

import pytest

from tests import make_hypervisor as make
from tests.plan import build, hypervisors
from tests.plan.hypervisors import WEB1, of
from tuneagent.model.plan import Plan, TunableKind

FILE = "/sys/module/kvm/parameters/halt_poll_ns"


def polling(value: str | None, rule: str, *subjects: str) -> Plan:
    parameters = {} if value is None else {"kvm.halt_poll_ns": value}
    view = make.host_view(after=make.host(hypervisor=make.hypervisor(parameters=parameters)))
    return of(view, *(build.finding(rule, subject) for subject in subjects or ("machine",)))


def test_off_and_back() -> None:
    change = hypervisors.change(polling("50000", "costs"))
    assert change.kind is TunableKind.KVM_PARAMETER
    assert (change.old, change.new, change.target.parameter) == ("50000", "0", "kvm.halt_poll_ns")
    assert (change.do, change.undo) == (f"echo 0 > {FILE}", f"echo 50000 > {FILE}")


def test_on_and_back() -> None:
    change = hypervisors.change(polling("0", "no-poll", WEB1, "domain web2"))
    assert (change.do, change.undo) == (f"echo 200000 > {FILE}", f"echo 0 > {FILE}")


def test_the_machine_is_asked_once_for_all_its_virtual_machines() -> None:
    advice = hypervisors.only(polling("0", "no-poll", WEB1, "domain web2"))
    assert advice.subject == "machine"
    assert [finding.subject for finding in advice.findings] == [WEB1, "domain web2"]
    assert advice.apply_command == "tuneagent apply poll-on"


@pytest.mark.parametrize(("value", "rule"), [("0", "costs"), ("7", "no-poll")])
def test_so_is_so(value: str, rule: str) -> None:
    assert f"already so: halt_poll_ns is {value}" in hypervisors.reason(polling(value, rule))


@pytest.mark.parametrize("value", [None, "", "-1", "many"])
def test_what_is_not_known_is_not_set(value: str | None) -> None:
    assert "not known" in hypervisors.reason(polling(value, "costs"))


def test_a_guest_has_none() -> None:
    answer = of(make.host_view(after=make.host(hypervisor=None)), build.finding("costs", "machine"))
    assert "no virtual machines" in hypervisors.reason(answer)

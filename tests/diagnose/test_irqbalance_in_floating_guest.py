from __future__ import annotations

from typing import Any

from tests import make as guests
from tests import make_hypervisor as make
from tests.diagnose.hypervisors import on
from tests.diagnose.views import balanced, clear, finding, unjudged, value
from tuneagent.diagnose.irqbalance_in_floating_guest import judge
from tuneagent.model.finding import Severity
from tuneagent.model.view import View


def asked(*, runs: bool | None = True, **definition: Any) -> View:
    inside = guests.view(balanced(guests.snapshot(), running=runs))
    return make.host_view(make.domain_view(definition=make.domain(**definition), guest=make.guest(view=inside)))


def test_irqbalance_on_vcpus_that_float() -> None:
    found = finding(judge, asked(vcpu_pins={0: on([2])}))
    assert (found.subject, found.severity) == ("domain web1", Severity.INFO)
    assert (value(found, "vcpus_pinned"), value(found, "vcpus")) == (1, 2)


def test_pinned_vcpus_or_no_irqbalance_are_well() -> None:
    clear(judge, asked())
    clear(judge, asked(vcpu_pins={}, vcpu_cpus=on([2, 3])))
    assert value(clear(judge, asked(runs=False, vcpu_pins={})), "irqbalance_in_guest") == "does not run"


def test_one_vcpu_and_a_guest_that_was_not_asked_are_no_question() -> None:
    assert judge(asked(vcpus=1, vcpu_pins={})) == ()
    assert judge(make.host_view()) == ()


def test_a_guest_that_could_not_be_seen() -> None:
    refused = make.guest(view=None, reason="the agent refuses guest-exec", nics=(), rates=None)
    assert unjudged(judge, make.host_view(make.domain_view(guest=refused))).reason == "the agent refuses guest-exec"
    unjudged(judge, asked(runs=None))

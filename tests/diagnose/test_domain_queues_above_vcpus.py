from __future__ import annotations

from tests import make_hypervisor as make
from tests.diagnose.hypervisors import with_interface
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.domain_queues_above_vcpus import judge
from tuneagent.model.finding import Severity
from tuneagent.model.view import View


def sized(queues: int, vcpus: int | None, most: int | None) -> View:
    return make.host_view(with_interface(make.domain(vcpus=vcpus, vcpus_max=most), queues=queues))


def test_queues_that_no_vcpu_can_use() -> None:
    found = finding(judge, sized(8, 2, 3))
    assert (found.subject, found.severity) == ("domain web1 vnet0", Severity.INFO)
    assert value(found, "queue_pairs_configured") == 8
    assert "5 of them are never used" in found.explanation


def test_queues_for_vcpus_to_be_plugged_in_are_well() -> None:
    clear(judge, sized(8, 2, 8))
    clear(judge, sized(2, 2, None))


def test_vcpus_unknown() -> None:
    unjudged(judge, sized(8, None, None))

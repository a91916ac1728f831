from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.test_queues_below_cpus import offering
from tests.diagnose.views import clear, finding, single, unjudged, value
from tuneagent.diagnose.queues_above_cpus import judge
from tuneagent.model.finding import Severity


def test_queues_in_use_above_the_cpus_cost() -> None:
    found = finding(judge, single(offering(6, 16)))
    assert found.severity is Severity.WARNING
    assert value(found, "queue_pairs") == 6


def test_queues_only_offered_are_advice_for_the_host() -> None:
    found = finding(judge, single(offering(4, 16)))
    assert found.severity is Severity.INFO
    assert value(found, "queue_pairs_offered") == 16


def test_one_cpu_is_judged_as_well() -> None:
    assert finding(judge, single(offering(1, 2, cpus=1))).severity is Severity.INFO


def test_equal_and_fewer_are_clear() -> None:
    clear(judge, single(offering(4, 4)))
    clear(judge, single(offering(1, 2)))


def test_unknowns_are_not_judged() -> None:
    unjudged(judge, single(offering(4, None)))
    unjudged(judge, single(replace(offering(4, 4), cpus=None)))


def test_nothing_without_a_virtio_nic() -> None:
    assert judge(single(replace(make.snapshot(), nics=None))) == ()

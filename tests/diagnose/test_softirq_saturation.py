from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.diagnose.views import clear, finding, single, unjudged, value
from tuneagent.diagnose.softirq_saturation import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.view import CpuRate, View


def busy(percent: float | None, ticks: int = 99, **changes: float | None) -> CpuRate:
    return make.cpu_rate(0, softirq_percent=percent, idle_percent=1.0, ticks=ticks, **changes)


def cpus(*rates: CpuRate) -> View:
    return make.view(cpus={rate.cpu: rate for rate in rates})


def test_one_cpu_is_full_and_the_others_idle() -> None:
    full = busy(100 * 97 / 99, softnet_squeezed_per_sec=900.0, softnet_processed_per_sec=480_000.0)
    found = finding(judge, cpus(full, make.cpu_rate(1), make.cpu_rate(3)))
    assert (found.subject, found.severity, found.cpus) == ("cpu0", Severity.CRITICAL, (0,))
    assert value(found, "softirq_percent") == pytest.approx(97.98, abs=0.01)
    assert value(found, "softnet_squeezed_per_sec") == 900.0
    assert "CPUs 1,3 idle" in found.explanation
    assert found.irqs == (31,)


def test_busy_but_not_full_is_a_warning_unless_packets_are_lost() -> None:
    assert finding(judge, cpus(busy(82.0), make.cpu_rate(1))).severity is Severity.WARNING
    lost = busy(82.0, softnet_dropped_per_sec=4.0)
    assert finding(judge, cpus(lost, make.cpu_rate(1))).severity is Severity.CRITICAL


def test_without_room_elsewhere_it_says_so() -> None:
    assert "no other CPU" in finding(judge, cpus(busy(97.0), replace(busy(30.0), cpu=1))).explanation
    assert "only CPU" in finding(judge, cpus(busy(97.0))).explanation


def test_each_full_cpu_is_a_finding() -> None:
    said = judge(cpus(replace(busy(99.0), cpu=2), busy(90.0), make.cpu_rate(1)))
    assert [one.subject for one in said] == ["cpu0", "cpu2"]


def test_light_work_is_clear_by_the_busiest() -> None:
    assert value(clear(judge, cpus(make.cpu_rate(0), make.cpu_rate(1, softirq_percent=41.0))), "cpu") == 1


def test_few_ticks_unknown_shares_and_one_sample_are_not_judged() -> None:
    assert "too short" in unjudged(judge, cpus(busy(100.0, ticks=9))).reason
    assert not unjudged(judge, cpus(busy(None))).idle
    assert unjudged(judge, single()).reason == "one sample"


def test_cpus_set_apart_are_no_room() -> None:
    view = cpus(busy(97.0), make.cpu_rate(1), make.cpu_rate(2))

    def apart(*isolated: int) -> str:
        topology = make.topology(4, isolated=CpuSet.of(isolated))
        return finding(judge, replace(view, after=replace(view.after, cpus=topology))).explanation

    assert "only CPUs 1-2, set apart by isolcpus or nohz_full, idle" in apart(1, 2, 3)
    assert "; CPU 1 idle" in apart(2, 3)


def test_without_an_interval_the_reason_is_that_of_the_rates() -> None:
    assert unjudged(judge, replace(cpus(), rates_reason="it slept")).reason == "it slept"

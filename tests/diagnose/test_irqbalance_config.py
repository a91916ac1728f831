from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import balanced, clear, finding, single, unjudged, value
from tuneagent.diagnose.irqbalance_config import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity

OLD = "IRQBALANCE_BANNED_CPUS"
FAULT = "line 3: --banirq without a number"


def test_a_fault_is_told_with_its_line() -> None:
    found = finding(judge, single(balanced(make.snapshot(), errors=(FAULT,))))
    assert (found.subject, found.severity) == ("machine", Severity.WARNING)
    assert value(found, "configuration_error") == FAULT
    assert FAULT in found.explanation


def test_a_fault_without_effect_is_worth_knowing_only() -> None:
    stopped = balanced(make.snapshot(), running=False, errors=(FAULT,))
    assert finding(judge, single(stopped)).severity is Severity.INFO


def test_the_deprecated_key() -> None:
    old = balanced(make.snapshot(), banned_cpus_key=OLD, banned_cpus=CpuSet(0xF8), deprecated_keys=(OLD,))
    found = finding(judge, single(old))
    assert (found.severity, value(found, "deprecated_key")) == (Severity.INFO, OLD)
    assert "Both" not in found.explanation


def test_the_deprecated_key_beside_its_successor() -> None:
    new = "IRQBALANCE_BANNED_CPULIST"
    both = balanced(make.snapshot(), banned_cpus_key=new, banned_cpus=CpuSet(0b10), deprecated_keys=(OLD,))
    found = finding(judge, single(both))
    assert value(found, "deprecated_key") == OLD
    assert "Both are set" in found.explanation


def test_a_sound_file_is_clear() -> None:
    sound = balanced(make.snapshot(), banned_cpus_key="IRQBALANCE_BANNED_CPULIST", banned_cpus=CpuSet())
    assert value(clear(judge, single(sound)), "configuration_errors") == 0


def test_nothing_without_a_file_and_unjudged_when_not_looked_at() -> None:
    assert judge(single(make.snapshot())) == ()
    unjudged(judge, single(replace(make.snapshot(), irqbalance=None)))


def test_a_file_that_could_not_be_read_is_neither_well_nor_at_fault() -> None:
    view = single(balanced(make.snapshot(), unreadable="Permission denied"))
    assert "Permission denied" in unjudged(judge, view).reason

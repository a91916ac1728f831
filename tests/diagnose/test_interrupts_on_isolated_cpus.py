from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import clear, finding, rates, single, unjudged, value, with_irqs, with_nic
from tuneagent.diagnose.interrupts_on_isolated_cpus import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.snapshot import Snapshot


def apart(isolated: int = 3, nohz_full: int = 2, queues: int = 4) -> Snapshot:
    base = make.snapshot(4, queues)
    cpus = make.topology(4, isolated=CpuSet.of([isolated]), nohz_full=CpuSet.of([nohz_full]))
    return replace(base, cpus=cpus)


def test_effective_affinity_on_cpus_set_apart() -> None:
    found = finding(judge, single(apart()))
    assert (found.severity, found.irqs, found.cpus) == (Severity.WARNING, (35, 36, 37, 38), (2, 3))
    assert value(found, "cpus_set_apart") == "2-3"


def test_growth_there_is_counted() -> None:
    found = finding(judge, rates({31: {0: 600}, 33: {1: 500, 3: 100}}, apart(queues=2)))
    assert (found.irqs, found.cpus) == ((33,), (3,))
    assert value(found, "interrupts_per_sec_there") == 50.0


def test_silent_interrupts_there_are_worth_knowing_only() -> None:
    assert finding(judge, rates({35: {}, 37: {}}, apart())).severity is Severity.INFO


def test_interrupts_elsewhere_are_clear() -> None:
    assert value(clear(judge, single(apart(queues=2))), "queue_interrupt_cpus") == "0-1"


def test_unknown_places_are_not_judged() -> None:
    wide = CpuSet.of([0, 1, 3])
    unjudged(
        judge,
        single(with_irqs(apart(queues=2), lambda line: replace(line, effective_affinity=None, affinity=wide))),
    )
    unjudged(judge, single(with_nic(apart(), queue_irqs=())))
    unjudged(judge, single(replace(apart(), cpus=None)))


def test_nothing_without_cpus_set_apart_online() -> None:
    assert judge(make.view()) == ()
    assert judge(single(apart(isolated=7, nohz_full=6))) == ()

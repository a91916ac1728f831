from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import balanced, clear, finding, single, unjudged, value, with_irqs
from tuneagent.diagnose.irqbalance_in_guest import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.identity import Role
from tuneagent.model.snapshot import Snapshot


def hinted() -> Snapshot:
    return with_irqs(make.snapshot(), lambda line: replace(line, affinity_hint=line.affinity))


def test_the_driver_has_placed_every_queue() -> None:
    found = finding(judge, single(balanced(hinted())))
    assert (found.severity, found.irqs, found.queues) == (Severity.INFO, tuple(range(31, 39)), (0, 1, 2, 3))
    assert value(found, "interrupts_placed_by_driver") == 8


def test_no_hint_or_another_place_is_clear() -> None:
    assert value(clear(judge, single(balanced(make.snapshot()))), "interrupts_placed_by_driver") == 0
    one = with_irqs(hinted(), lambda line: replace(line, affinity=CpuSet.of([0, 3])) if line.irq == 33 else line)
    assert value(clear(judge, single(balanced(one))), "interrupts_placed_by_driver") == 7


def test_one_hint_for_all_queues_places_nothing() -> None:
    every = CpuSet.of(range(4))
    clear(judge, single(balanced(with_irqs(hinted(), lambda x: replace(x, affinity=every, affinity_hint=every)))))


def test_banned_interrupts_are_clear() -> None:
    clear(judge, single(balanced(hinted(), "--banmod=virtio")))


def test_an_unknown_state_is_not_judged() -> None:
    unjudged(judge, single(balanced(hinted(), running=None)))


def test_nothing_outside_a_guest_without_irqbalance_or_with_one_queue() -> None:
    assert judge(single(hinted())) == ()
    identity = hinted().identity
    assert identity is not None
    host = replace(balanced(hinted()), identity=replace(identity, role=Role.HYPERVISOR))
    assert judge(single(host)) == ()
    assert judge(single(balanced(make.snapshot(4, 1)))) == ()

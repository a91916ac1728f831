from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import at, clear, finding, rates, single, unjudged, value, with_irqs, with_nic
from tuneagent.diagnose.queue_pair_split import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.irq import QueueIrq, QueueRole

SPLIT = with_irqs(make.snapshot(), at({32: 1, 36: 3}))


def test_one_sample_shows_the_split_pairs_and_no_others() -> None:
    found = finding(judge, single(SPLIT))
    assert (found.queues, found.irqs, found.cpus) == ((0, 2), (31, 32, 35, 36), (0, 1, 2, 3))
    assert value(found, "irq32_output_0_cpu") == 1
    assert found.severity is Severity.INFO
    assert "not known" in found.explanation


def test_a_busy_pair_is_judged_by_where_it_fell() -> None:
    busy = {31: {0: 700}, 32: {3: 400}}
    assert finding(judge, rates(busy)).severity is Severity.WARNING
    clear(judge, rates({31: {0: 700}, 32: {0: 400}, 35: {2: 500}, 36: {2: 300}}, SPLIT))


def test_a_split_whose_transmit_side_is_silent_costs_nothing_now() -> None:
    silent = rates({31: {0: 13975}, 32: {}, 35: {2: 900}, 36: {}}, SPLIT)
    assert finding(judge, silent).severity is Severity.INFO


def test_a_silent_vector_that_was_moved_is_not_split() -> None:
    stale = with_irqs(
        make.snapshot(), lambda line: replace(line, effective_affinity=CpuSet.of([3])) if line.irq == 32 else line
    )
    clear(judge, single(stale))


def test_without_an_effective_affinity_a_mask_of_one_cpu_tells_and_is_the_source() -> None:
    old = with_irqs(SPLIT, lambda line: replace(line, effective_affinity=None))
    found = finding(judge, single(old))
    assert found.queues == (0, 2)
    assert {item.source for item in found.evidence if "irq32" in item.metric} == {"/proc/irq/32/smp_affinity_list"}


def test_pairs_together_are_clear() -> None:
    assert value(clear(judge, make.view()), "queue_pairs_on_one_cpu") == 4


def test_unknown_places_are_not_judged() -> None:
    wide = CpuSet.of([0, 2])
    unknown = with_irqs(make.snapshot(), lambda line: replace(line, effective_affinity=None, affinity=wide))
    assert not unjudged(judge, single(unknown)).idle
    unjudged(judge, single(with_nic(make.snapshot(), queue_irqs=())))


def test_nothing_with_one_cpu_or_a_shared_vector() -> None:
    assert judge(make.view(make.snapshot(1, 4))) == ()
    shared = (QueueIrq(31, QueueRole.SHARED_QUEUES, None),)
    assert judge(make.view(with_nic(make.snapshot(), queue_irqs=shared))) == ()

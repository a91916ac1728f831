from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import make
from tests.diagnose.views import at, balanced, clear, finding, rates, single, unjudged, value, with_irqs, with_nic
from tuneagent.diagnose.interrupt_spread import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.snapshot import Snapshot


def guest(queues: int = 1, cpus: int = 2) -> Snapshot:
    return make.snapshot(cpus, queues)


@pytest.mark.parametrize("counts", [{0: 5154, 1: 5222}, {0: 3400, 1: 3400}])
def test_both_cpus_of_the_small_packet_table_bounce(counts: dict[int, int]) -> None:
    found = finding(judge, rates({31: counts, 32: {}}, guest()))
    assert (found.subject, found.irqs, found.queues, found.cpus) == ("eth0", (31,), (0,), (0, 1))
    assert found.severity is Severity.WARNING
    assert value(found, "irq31_busiest_cpu_percent") == pytest.approx(100 * max(counts.values()) / sum(counts.values()))


@pytest.mark.parametrize("count", [7040, 13975])
def test_one_cpu_of_the_small_packet_table_is_clear(count: int) -> None:
    assert value(clear(judge, rates({31: {0: count}, 32: {}}, guest())), "irq31_busiest_cpu_percent") == 100.0


def test_a_few_strays_are_no_spread() -> None:
    clear(judge, rates({31: {0: 910, 1: 90}}, guest()))
    finding(judge, rates({31: {0: 890, 1: 110}}, guest()))


def test_a_config_interrupt_never_counts() -> None:
    said = clear(judge, rates({30: {0: 500, 1: 500}, 31: {0: 900}}, guest()))
    assert [item.metric for item in said.evidence] == ["irq31_busiest_cpu_percent"]


@given(st.sets(st.sampled_from(range(31, 47)), min_size=1))
def test_exactly_the_bouncing_queues_are_listed(bouncing: set[int]) -> None:
    counts = {irq: {0: 300, 5: 310, 7: 320} if irq in bouncing else {irq % 8: 900} for irq in range(31, 47)}
    found = finding(judge, rates(counts, guest(8, 8)))
    assert found.irqs == tuple(sorted(bouncing))
    assert found.queues == tuple(sorted({(irq - 31) // 2 for irq in bouncing}))


def test_the_mover_is_irqbalance_where_it_runs() -> None:
    assert "irqbalance runs" in finding(judge, rates({31: {0: 500, 1: 600}}, balanced(guest()))).explanation


def test_irqbalance_is_not_named_for_a_banned_interrupt() -> None:
    banned = balanced(guest(), "--foreground", "--banirq=31")
    assert "Mover not seen" in finding(judge, rates({31: {0: 500, 1: 600}}, banned)).explanation


def test_a_changed_affinity_is_shown_from_old_to_new() -> None:
    before, after = guest(), with_irqs(guest(), at({31: 1}))
    found = finding(judge, rates({31: {0: 500, 1: 600}}, after, before=before))
    assert "affinity of IRQ 31 differs" in found.explanation
    assert "irqbalance does not run" in found.explanation
    assert value(found, "irq31_effective_affinity") == "0 -> 1"


def test_the_controller_is_the_mover_where_it_may_choose() -> None:
    both = CpuSet.of([0, 1])
    wide = with_irqs(guest(), lambda line: replace(line, affinity=both, effective_affinity=both))
    assert "interrupt controller" in finding(judge, rates({31: {0: 500, 1: 600}}, wide)).explanation


def test_the_mover_may_remain_unseen() -> None:
    assert "Mover not seen" in finding(judge, rates({31: {0: 500, 1: 600}}, guest())).explanation


def test_a_line_for_the_whole_device_bounces_too() -> None:
    one = with_nic(guest(), queue_irqs=(QueueIrq(31, QueueRole.DEVICE, None),))
    assert finding(judge, rates({31: {0: 500, 1: 600}}, one)).queues == ()


def test_history_is_no_finding() -> None:
    assert unjudged(judge, single(guest())).reason == "one sample"


def test_few_interrupts_are_too_little_traffic() -> None:
    said = unjudged(judge, rates({31: {0: 49, 1: 50}}, guest()))
    assert said.idle
    assert "too little traffic" in said.reason


def test_uncounted_interrupts_are_not_idle_ones() -> None:
    assert not unjudged(judge, rates({}, guest())).idle
    assert not unjudged(judge, rates({31: {0: 900}}, with_nic(guest(), queue_irqs=()))).idle


def test_nothing_on_one_cpu_or_without_a_virtio_nic() -> None:
    assert judge(rates({31: {0: 900}}, guest(1, 1))) == ()
    assert judge(make.view(replace(guest(), nics=()))) == ()
    assert judge(make.view(with_nic(guest(), virtio=None))) == ()

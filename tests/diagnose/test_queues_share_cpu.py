from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import at, clear, finding, rates, single, unjudged, value, with_irqs, with_nic
from tuneagent.diagnose.queues_share_cpu import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.snapshot import Snapshot

ALL = CpuSet.of(range(4))
ON_ZERO = dict.fromkeys(range(31, 39), 0)


def piled() -> Snapshot:
    """Four queues that may go to every CPU and do go to CPU 0."""
    return with_irqs(with_irqs(make.snapshot(), at(ON_ZERO)), lambda line: replace(line, affinity=ALL))


def test_effective_affinity_alone_shows_a_pile() -> None:
    found = finding(judge, single(piled()))
    assert (found.severity, found.queues, found.cpus) == (Severity.WARNING, (0, 1, 2, 3), (0,))
    assert found.irqs == tuple(range(31, 39))
    assert value(found, "cpus_without_queue") == "1-3"


def test_an_idle_pile_is_worth_knowing_only() -> None:
    idle = rates({irq: {0: 3} for irq in ON_ZERO}, piled())
    assert finding(judge, idle).severity is Severity.INFO


def test_where_interrupts_fell_outweighs_the_effective_affinity() -> None:
    clear(judge, rates({31 + 2 * queue: {queue: 700} for queue in range(4)}, piled()))
    found = finding(judge, rates({31 + 2 * queue: {2: 700} for queue in range(4)}))
    assert (found.severity, found.cpus) == (Severity.WARNING, (2,))


def test_a_wide_mask_decides_nothing() -> None:
    unknown = with_irqs(make.snapshot(), lambda line: replace(line, affinity=ALL, effective_affinity=None))
    said = unjudged(judge, single(unknown))
    assert "not known" in said.reason


def test_a_vector_that_was_moved_and_is_silent_counts_where_it_will_fall() -> None:
    moved = with_irqs(piled(), lambda line: replace(line, affinity=CpuSet.of([max(line.irq - 31, 0) // 2])))
    clear(judge, single(moved))


def test_an_even_fold_is_clear() -> None:
    clear(judge, make.view(make.snapshot(4, 8)))
    clear(judge, make.view(make.snapshot(3, 4), queues=4))


def test_isolated_cpus_are_no_free_cpus() -> None:
    two = make.topology(4, isolated=CpuSet.of([2, 3]))
    folded = with_irqs(make.snapshot(cpus=4), at({31: 0, 33: 1, 35: 0, 37: 1}))
    clear(judge, single(replace(folded, cpus=two)))


def test_cpus_of_another_busy_nic_are_not_free() -> None:
    other = make.nic(2, name="eth1", virtio="virtio1", bus_address="0000:00:04.0")
    other = replace(other, queue_irqs=tuple(replace(irq, irq=irq.irq + 30) for irq in other.queue_irqs))
    lines = (*(make.snapshot(4, 2).irqs or ()), make.irq_line(61, "virtio1-input.0", 2), make.irq_line(63, "x", 3))
    both = replace(make.snapshot(4, 2), nics=(make.nic(2), other), irqs=lines)
    both = with_irqs(both, at({31: 0, 33: 0}))
    counts = {31: {0: 500}, 33: {0: 510}, 61: {1: 520, 2: 20}, 63: {2: 400, 3: 430}}
    said = [one for one in judge(rates(counts, both)) if one.subject == "eth0"]
    assert type(said[0]).__name__ == "Clear"
    idle = [one for one in judge(single(both)) if one.subject == "eth0"]
    assert type(idle[0]).__name__ == "Finding"


def test_bouncing_queues_are_not_said_to_share() -> None:
    unjudged(judge, rates({31 + 2 * queue: {0: 300, 1: 300, 2: 300, 3: 300} for queue in range(4)}, piled()))


def test_unknown_interrupts_and_cpus_are_said() -> None:
    assert "interrupt" in unjudged(judge, make.view(with_nic(make.snapshot(), queue_irqs=()))).reason
    assert "CPUs" in unjudged(judge, make.view(replace(make.snapshot(), cpus=None))).reason


def test_queues_that_share_one_vector_are_not_judged_here() -> None:
    for role in (QueueRole.SHARED_QUEUES, QueueRole.DEVICE):
        one = with_nic(piled(), queue_irqs=(QueueIrq(31, role, None),))
        assert judge(make.view(one)) == ()


def test_without_an_effective_affinity_a_mask_of_one_cpu_tells() -> None:
    old = with_irqs(with_irqs(make.snapshot(), at(ON_ZERO)), lambda line: replace(line, effective_affinity=None))
    assert finding(judge, single(old)).cpus == (0,)
    silent = with_irqs(old, lambda line: replace(line, effective_affinity=CpuSet()))
    assert finding(judge, single(silent)).cpus == (0,)


def test_nothing_with_one_queue_or_one_cpu() -> None:
    assert judge(make.view(make.snapshot(4, 1))) == ()
    assert judge(make.view(make.snapshot(1, 4))) == ()


def test_two_samples_without_an_interval_show_no_idleness() -> None:
    assert finding(judge, rates({}, piled(), rates_reason="it slept")).severity is Severity.WARNING

from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import balanced, clear, finding, rates, single, unjudged, value, with_nic
from tuneagent.diagnose.irqbalance_absent import judge

CROWDED = {31: {0: 7040}, 33: {0: 6100}, 35: {2: 5000}}


def test_busy_queues_share_a_cpu_while_others_idle() -> None:
    found = finding(judge, rates(CROWDED))
    assert (found.subject, found.irqs, found.cpus) == ("machine", (31, 33), (0,))
    assert value(found, "idle_cpus") == "1,3"


def test_receive_and_transmit_of_one_pair_belong_together() -> None:
    clear(judge, rates({31: {0: 7040}, 32: {0: 900}}))


def test_without_an_idle_cpu_nothing_is_gained() -> None:
    full = {cpu: make.cpu_rate(cpu, idle_percent=5.0 + cpu) for cpu in range(4)}
    clear(judge, rates(CROWDED, cpus=full))


def test_queues_apart_are_clear_without_irqbalance() -> None:
    assert value(clear(judge, make.view()), "irqbalance") == "not running"


def test_irqbalance_that_runs_is_clear() -> None:
    assert value(clear(judge, rates(CROWDED, balanced(make.snapshot()))), "irqbalance") == "running"


def test_silent_queues_are_too_little_traffic() -> None:
    assert unjudged(judge, rates({31: {0: 12}, 33: {0: 7}})).idle


def test_unknowns_are_not_absence() -> None:
    assert "not known" in unjudged(judge, rates(CROWDED, replace(make.snapshot(), irqbalance=None))).reason
    assert "not known" in unjudged(judge, rates(CROWDED, balanced(make.snapshot(), running=None))).reason
    assert unjudged(judge, single()).reason == "one sample"
    unjudged(judge, rates(CROWDED, replace(make.snapshot(), cpus=None)))


def test_nothing_with_one_cpu_or_no_virtio_nic() -> None:
    assert judge(rates({31: {0: 900}, 33: {0: 900}}, make.snapshot(1, 2))) == ()
    assert judge(make.view(replace(make.snapshot(), nics=()))) == ()


def test_unknown_interrupts_are_not_silent_ones() -> None:
    said = unjudged(judge, rates({}, with_nic(make.snapshot(), queue_irqs=())))
    assert (said.idle, said.reason) == (False, "no queue interrupt of a virtio NIC is known")
    asleep = unjudged(judge, replace(rates({}), rates_reason="it slept"))
    assert (asleep.idle, asleep.reason) == (False, "it slept")

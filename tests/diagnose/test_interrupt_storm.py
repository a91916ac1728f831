from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make
from tests.diagnose.views import clear, finding, rates, single, unjudged, value, with_irqs, with_nic
from tuneagent.diagnose.interrupt_storm import judge
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.view import View


def firing(interrupts: float | None, rx_packets: float | None, **changes: Any) -> View:
    rate = make.nic_rate(interrupts_per_sec=interrupts, rx_packets_per_sec=rx_packets, tx_packets_per_sec=1.0)
    return rates({31: {0: 90}, 33: {0: 91_000}}, nics={"eth0": rate}, **changes)


def test_many_interrupts_and_no_packets() -> None:
    found = finding(judge, firing(45_545.0, 0.0))
    assert found.irqs == (33, 31)
    assert (value(found, "interrupts_per_sec"), value(found, "packets_per_sec")) == (45_545.0, 1.0)


def test_a_shared_line_names_who_else_is_on_it() -> None:
    machine = with_nic(make.snapshot(), queue_irqs=(QueueIrq(33, QueueRole.DEVICE, None),))
    machine = with_irqs(machine, lambda line: replace(line, actions=("virtio0", "ehci_hcd:usb2")))
    assert "ehci_hcd:usb2" in finding(judge, firing(45_545.0, 7.0, after=machine)).explanation


def test_packets_that_another_counter_saw_leave_doubt() -> None:
    busy = {cpu: make.cpu_rate(cpu, softnet_processed_per_sec=5_000.0) for cpu in range(4)}
    assert "20,000 packets/s" in unjudged(judge, firing(45_545.0, 0.0, cpus=busy)).reason


def test_counters_of_one_moment_leave_doubt() -> None:
    still = {0: make.cpu_rate(0, ticks=None, softnet_processed_per_sec=0.0)}
    assert "of one moment" in unjudged(judge, firing(45_545.0, 0.0, cpus=still)).reason


def test_packets_explain_interrupts() -> None:
    clear(judge, firing(45_545.0, 40_000.0))


def test_few_interrupts_are_clear_without_a_packet_counter() -> None:
    clear(judge, firing(12.0, None))


def test_unknowns_are_not_judged() -> None:
    assert not unjudged(judge, firing(None, 0.0)).idle
    assert not unjudged(judge, firing(45_545.0, None)).idle
    assert unjudged(judge, single()).reason == "one sample"


def test_nothing_without_a_virtio_nic() -> None:
    assert judge(make.view(replace(make.snapshot(), nics=()))) == ()

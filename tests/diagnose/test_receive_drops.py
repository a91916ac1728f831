from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make
from tests.diagnose.views import plain_nic, single, unjudged, value
from tuneagent.diagnose.receive_drops import judge
from tuneagent.model.finding import Clear, Finding, Judgement, Severity, Unjudged
from tuneagent.model.identity import Role
from tuneagent.model.nic import Link
from tuneagent.model.view import View


def of(view: View, subject: str) -> Judgement:
    (only,) = (said for said in judge(view) if said.subject == subject)
    return only


def losing(**changes: Any) -> View:
    return make.view(nics={"eth0": make.nic_rate(**changes)})


def test_loss_of_a_thousandth_is_critical() -> None:
    found = of(losing(rx_missed_per_sec=286.7, rx_drops_per_sec=405.6), "eth0")
    assert isinstance(found, Finding)
    assert found.severity is Severity.CRITICAL
    assert (value(found, "rx_missed_errors_per_sec"), value(found, "rx_dropped_per_sec")) == (286.7, 405.6)
    assert "406 packets/s" in found.title
    assert "host's tap" in found.explanation


def test_a_little_loss_is_a_warning() -> None:
    found = of(losing(rx_errors_per_sec=3.0), "eth0")
    assert isinstance(found, Finding)
    assert found.severity is Severity.WARNING


def test_a_stray_drop_is_clear_and_the_tap_stays_unknown_in_a_guest() -> None:
    said = of(losing(rx_drops_per_sec=0.5), "eth0")
    assert isinstance(said, Clear)
    assert value(said, "host_tap_drops_per_sec") is None


def test_on_bare_metal_no_tap_is_missed() -> None:
    view = losing()
    identity = replace(view.after.identity, role=Role.BARE_METAL) if view.after.identity else None
    said = of(replace(view, after=replace(view.after, identity=identity)), "eth0")
    assert isinstance(said, Clear)
    assert [item.metric for item in said.evidence][-1] == "rx_errors_per_sec"


def test_unknown_counters_are_not_zero() -> None:
    unknown = losing(rx_drops_per_sec=None, rx_missed_per_sec=None, rx_errors_per_sec=None)
    assert isinstance(of(unknown, "eth0"), Unjudged)
    assert isinstance(of(make.view(nics={}), "eth0"), Unjudged)


def test_cpus_in_trouble_are_one_finding_with_the_numbers_of_each() -> None:
    rates = {
        0: make.cpu_rate(0, softnet_dropped_per_sec=12.0),
        1: make.cpu_rate(1, softnet_squeezed_per_sec=900.0),
        2: make.cpu_rate(2, softnet_squeezed_per_sec=9.0),
    }
    (found,) = [one for one in judge(make.view(cpus=rates)) if isinstance(one, Finding)]
    assert (found.subject, found.severity, found.cpus) == ("machine", Severity.CRITICAL, (0, 1))
    numbers = {one.metric: one.value for one in found.evidence}
    assert (numbers["cpu0_softnet_dropped_per_sec"], numbers["cpu1_softnet_squeezed_per_sec"]) == (12.0, 900.0)


def test_one_squeezed_cpu_is_named() -> None:
    view = make.view(cpus={3: make.cpu_rate(3, softnet_squeezed_per_sec=35.5)})
    (found,) = [one for one in judge(view) if isinstance(one, Finding)]
    assert (found.subject, found.severity, found.title) == ("cpu3", Severity.WARNING, "CPU 3 is squeezed 35.5 times/s")


def test_softnet_unread_is_not_judged() -> None:
    rates = {0: make.cpu_rate(0, softnet_dropped_per_sec=None, softnet_squeezed_per_sec=None)}
    assert isinstance(of(make.view(cpus=rates), "machine"), Unjudged)


def test_a_taps_transmit_drops_are_its_guests() -> None:
    host = replace(make.snapshot(), nics=(plain_nic("vnet0", link=Link(kind="tun")), plain_nic("lo")))
    rate = make.nic_rate(1, name="vnet0", tx_drops_per_sec=482.0, tx_packets_per_sec=9000.0)
    found = of(make.view(host, nics={"vnet0": rate}), "vnet0")
    assert isinstance(found, Finding)
    assert found.severity is Severity.CRITICAL


def test_loopback_is_not_looked_at() -> None:
    machine = replace(make.snapshot(), nics=(plain_nic("lo"),))
    assert [said.subject for said in judge(make.view(machine, nics={}))] == ["machine"]


def test_one_sample() -> None:
    assert unjudged(judge, single()).reason == (
        "one sample. Packets dropped at the host's tap, before the guest, cannot be seen from here"
    )
    nobody = replace(single(), after=replace(single().after, nics=()))
    assert unjudged(judge, nobody).reason == "one sample"


def test_a_tun_without_a_mac_address_has_a_program_behind_it_and_no_guest() -> None:
    machine = replace(make.snapshot(), nics=(plain_nic("tun0", link=Link(kind="tun"), mac=None),))
    rate = make.nic_rate(1, name="tun0", tx_drops_per_sec=3.0, tx_packets_per_sec=9000.0)
    found = of(make.view(machine, nics={"tun0": rate}), "tun0")
    assert isinstance(found, Finding)
    assert "guest" not in found.title + found.explanation
    assert "VPN" in found.explanation


def seen_by_nobody(**changes: Any) -> View:
    """Drops that only rx_dropped counts."""
    quiet = {"rx_missed_per_sec": 0.0, "rx_errors_per_sec": 0.0, "rx_drops_per_sec": 50.0}
    rate = make.nic_rate(2, **quiet)
    rate = replace(rate, queues=tuple(replace(queue, rx_drops_per_sec=0.0) for queue in rate.queues))
    cpus = {cpu: make.cpu_rate(cpu, softnet_dropped_per_sec=0.0) for cpu in range(2)}
    return make.view(nics={"eth0": replace(rate, **changes)}, cpus=cpus)


def test_what_only_the_stack_dropped_is_what_nobody_takes() -> None:
    found = of(seen_by_nobody(), "eth0")
    assert isinstance(found, Finding)
    assert found.severity is Severity.INFO
    assert "50 packets/s that nothing here takes" in found.title


def test_a_drop_that_a_queue_a_backlog_or_the_device_counts_is_a_loss() -> None:
    base = seen_by_nobody()
    queue = base.nics["eth0"].queues[0]
    views = (
        seen_by_nobody(rx_missed_per_sec=0.2),
        seen_by_nobody(rx_errors_per_sec=None),
        seen_by_nobody(queues=(replace(queue, rx_drops_per_sec=4.0),)),
        seen_by_nobody(queues=(replace(queue, rx_drops_per_sec=None),)),
        seen_by_nobody(queues=()),
        replace(base, cpus={0: make.cpu_rate(0, softnet_dropped_per_sec=0.4)}),
        replace(base, cpus={}),
    )
    for view in views:
        found = of(view, "eth0")
        assert isinstance(found, Finding)
        assert found.severity is Severity.CRITICAL


def test_two_samples_without_an_interval_tell_why() -> None:
    assert unjudged(judge, make.view(rates_reason="it slept")).reason.startswith("it slept. ")

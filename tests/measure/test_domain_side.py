"""A virtual machine measured from its hypervisor, with and without its guest's own view."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make
from tests import make_hypervisor as made
from tests.measure.test_metrics import guest_view, load
from tuneagent.measure.domain_side import NOT_ASKED
from tuneagent.measure.metrics import metrics
from tuneagent.measure.rounds import Measured
from tuneagent.measure.scope import Scope
from tuneagent.model.domain_view import DomainView
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import ProtocolRate

SCOPE = Scope(domain=made.UUID, server_measured=True)
WITH_GUEST = replace(SCOPE, guest=True)
HOST_PROTOCOLS = ProtocolRate(1.0, 2.0, 10.5, 3.0, 4.0, 5.0)


def told(domain: DomainView | None = None, scope: Scope = SCOPE, **changes: Any) -> Measured:
    view = made.host_view(domain or made.domain_view(), **{"protocols": HOST_PROTOCOLS, **changes})
    return metrics(view, load(), scope)


def asked(**changes: Any) -> DomainView:
    joined = made.joined_nic(nic=make.nic(1), rate=make.nic_rate(1))
    return made.domain_view(guest=made.guest(**{"view": guest_view(), "nics": (joined,), **changes}))


def test_the_host_alone_tells_its_part() -> None:
    one = told()
    assert one.metrics == {
        "transactions_per_sec": 50_000.0,
        "packets_per_sec": 60_000.0,
        "exits_per_sec": 60_000.0,
        "exits_per_transaction": pytest.approx(1.2),
        "tx_cpu_percent": pytest.approx(15),
        "rx_cpu_percent": pytest.approx((62 + 48) / 2),
        # the emulator's, both vCPUs' and the vhost worker's, less the server's in the guest
        "cpu_per_transaction_us": pytest.approx((0.03 + 0.62 + 0.48 + 0.40 - 0.35) / 50_000 * 1e6),
        "vhost_cpu_percent": 40.0,
        "latency_p50_us": pytest.approx(40, rel=0.01),
        "latency_p99_us": pytest.approx(900, rel=0.01),
        "drops": 0.0,
        "retransmits": 21.0,
        "steal_percent": 0.75,
        "run_queue_wait_percent": 0.75 + 0.5 + 1.5,
    }
    assert one.exits_by_kind == {"halt_exits": 18_000.0, "io_exits": 3_500.0, "mmio_exits": 250.0}
    assert one.missing["interrupts_per_sec"] == one.missing["lock_waits_per_sec"] == NOT_ASKED
    assert one.queue_interrupts == {}


def test_the_guests_own_view_is_beside_it() -> None:
    one = told(asked(), WITH_GUEST)
    assert one.metrics["interrupts_per_sec"] == 2_000.0
    assert one.metrics["interrupts_per_packet"] == 0.05
    assert one.metrics["rx_cpu_percent"] == pytest.approx(25)  # of the CPUs in the guest that took the interrupts
    assert one.metrics["softnet_squeezes_per_sec"] == 3.5
    assert one.metrics["drops"] == 8.0
    assert one.metrics["retransmits"] == 21.0 + 7.0
    assert one.metrics["exits_per_transaction"] == pytest.approx(1.2)
    assert one.queue_interrupts["input.0"] == {"0": 1_500.0, "1": 500.0}


def test_no_other_figure_stands_in_for_a_guest_that_does_not_answer() -> None:
    silent = made.domain_view(guest=made.guest(view=None, nics=(), reason="the agent does not answer"))
    one = told(silent, WITH_GUEST)
    for name in ("interrupts_per_sec", "rx_cpu_percent", "drops", "retransmits", "softnet_squeezes_per_sec"):
        assert one.missing[name] == "the agent does not answer"
    assert one.metrics["exits_per_sec"] == 60_000.0
    assert one.metrics["cpu_per_transaction_us"] > 0


def test_a_guest_whose_interfaces_are_not_the_domains_tells_nothing() -> None:
    one = told(asked(nics=(), reason=None), WITH_GUEST)
    assert one.missing["interrupts_per_sec"] == "none of the guest's NICs was found among the domain's interfaces"


def test_only_the_interfaces_that_are_meant_count() -> None:
    other = made.domain_interface(position=1, mac="52:54:00:aa:bb:cc", target="vnet1")
    second = made.tap_rate(
        interface=other, tap=made.tap(name="vnet1"), to_guest_packets_per_sec=7.0, from_guest_packets_per_sec=5.0
    )
    domain = made.domain_view(taps=(made.tap_rate(), second))
    assert told(domain).metrics["packets_per_sec"] == 60_012.0
    assert told(domain, replace(SCOPE, macs=frozenset({"52:54:00:aa:bb:cc"}))).metrics["packets_per_sec"] == 12.0
    nobody = told(domain, replace(SCOPE, macs=frozenset({"52:54:00:00:00:01"})))
    assert "no tap" in nobody.missing["packets_per_sec"]


def test_exits_that_cannot_be_compared_have_kvms_reason() -> None:
    one = told(made.domain_view(kvm=None, kvm_reason="a counter fell: it was migrated"))
    assert one.missing["exits_per_sec"] == one.missing["exits_per_transaction"] == "a counter fell: it was migrated"
    assert one.exits_by_kind == {}


def test_a_thread_that_is_not_seen_leaves_no_sum() -> None:
    threads = made.thread_rates()
    one = told(made.domain_view(threads=tuple(one for one in threads if one.thread.index != 1)))
    assert one.missing["cpu_per_transaction_us"] == "not all threads of its vCPUs were seen"
    vhost = made.domain_view(threads=tuple(one for one in threads if one.thread.role is ThreadRole.VHOST))
    for name in ("run_queue_wait_percent", "rx_cpu_percent"):
        assert told(vhost).missing[name] == "no thread of its vCPUs was seen"
    anew = tuple(replace(one, cpu_percent=None) if one.thread.role is ThreadRole.VHOST else one for one in threads)
    two = told(made.domain_view(threads=anew))
    reason = f"thread {made.VHOST_TID}: its CPU time is not known"
    assert two.missing["vhost_cpu_percent"] == two.missing["cpu_per_transaction_us"] == reason


def test_a_virtual_machine_that_vhost_does_not_serve_says_so() -> None:
    threads = tuple(one for one in made.thread_rates() if one.thread.role is not ThreadRole.VHOST)
    one = told(made.domain_view(threads=threads))
    assert one.missing["vhost_cpu_percent"] == "no vhost worker serves it"
    assert one.metrics["run_queue_wait_percent"] == 1.25


def test_drops_at_the_tap_are_counted_whole() -> None:
    tap = made.tap_rate(to_guest_drops_per_sec=1.5, from_guest_drops_per_sec=2.0)
    assert told(made.domain_view(taps=(tap,))).metrics["drops"] == 7.0
    unknown = told(made.domain_view(taps=(replace(tap, to_guest_drops_per_sec=None),)))
    assert unknown.missing["drops"] == "vnet0: its drops are not known"


def test_what_was_taken_from_the_host_itself_is_steal_as_well() -> None:
    cpus = {0: make.cpu_rate(0, steal_percent=33.0), 1: make.cpu_rate(1, steal_percent=1.0)}
    assert told(cpus=cpus).steal_percent == 33.0
    assert told(cpus={}).steal_percent == 0.75


def test_a_virtual_machine_that_is_not_there_has_no_figures() -> None:
    one = told(scope=replace(SCOPE, domain="22222222-2222-3333-4444-555555555555"))
    assert one.missing["exits_per_sec"] == "the virtual machine does not run here"
    assert one.metrics["transactions_per_sec"] == 50_000.0


def test_without_a_load_its_taps_tell_how_much_passed() -> None:
    view = made.host_view(made.domain_view(), protocols=HOST_PROTOCOLS)
    one = metrics(view, load(transactions=None, value=None, unit=""), SCOPE)
    assert one.metrics["bits_per_sec"] == 8 * (4e6 + 3e6)
    assert one.missing["segments_per_sec"] == NOT_ASKED
    inside = made.host_view(asked(), protocols=HOST_PROTOCOLS)
    one = metrics(inside, load(transactions=None, value=None, unit=""), WITH_GUEST)
    assert one.metrics["segments_per_sec"] == 5.0 + 6.0  # the guest's, not the host's

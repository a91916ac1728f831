"""The metrics of a round, from built views; the table of the report that all this began with, as arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make
from tests import make_hypervisor as made
from tuneagent.measure import domain_side
from tuneagent.measure.metrics import PASSIVE, metrics
from tuneagent.measure.rounds import Measured
from tuneagent.measure.scope import Scope
from tuneagent.model.contention import Contention, SpinVisibility
from tuneagent.model.histogram import bucket_of
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.load import Histogram, LoadResult
from tuneagent.model.metrics import BITS, METRICS, OF_PASSIVE
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.view import ProtocolRate, View

INSIDE = Scope(client_measured=True)
"""The trial runs in the guest, and its load against a server elsewhere."""
FROM_HOST = Scope(domain=made.UUID, guest=True, server_measured=True)
"""The trial runs on the hypervisor with its load, and the guest answers."""
REPORT = (
    # txn/s, pkt/s, exits/s, sender's and receiver's CPU, interrupts/s by CPU, exits per transaction, interrupts per
    # received packet
    (87_070.34, 172_992.0, 148_444.58, 2.40, 99.35, (5_154, 5_222), 1.705, 0.120),
    (112_180.10, 222_878.33, 96_280.11, 1.14, 99.33, (3_400, 3_400), 0.858, 0.061),
    (110_891.12, 220_315.67, 97_190.68, 1.10, 99.38, (7_040, 0), 0.876, 0.064),
    (107_714.53, 214_006.0, 121_050.45, 9.61, 99.45, (13_975, 0), 1.124, 0.131),
)


def load(**changes: Any) -> LoadResult:
    """50,000 transactions/s over the two seconds of the views."""
    latency = Histogram({bucket_of(40_000): 98, bucket_of(900_000): 2}, 100, 5_720_000, 40_000, 900_000)
    base = LoadResult(make.SECONDS, 100_000, latency=latency, client_cpu_s=0.3, server_cpu_s=0.7, client_cpus=(3,))
    return replace(base, **changes)


def guest_view(cpus: int = 4, **changes: Any) -> View:
    """Four CPUs of 10 % busy, one of them with steal, and one queue pair whose interrupts CPUs 0 and 1 take."""
    rates = {cpu: make.cpu_rate(cpu, steal_percent=0.0) for cpu in range(cpus)}
    rates[1] = make.cpu_rate(1, idle_percent=40.0, steal_percent=20.0, softnet_squeezed_per_sec=3.5)
    base: dict[str, Any] = {
        "irqs": {31: make.irq_rate(31, {0: 3_000, 1: 1_000}), 32: make.irq_rate(32, {})},
        "cpus": rates,
        "protocols": ProtocolRate(5.0, 6.0, 3.5, 7.0, 8.0, 9.0),
        "nics": {"eth0": make.nic_rate(1, rx_drops_per_sec=1.5, tx_drops_per_sec=2.0, rx_missed_per_sec=0.5)},
        **changes,
    }
    return make.view(make.snapshot(cpus, queues=1), queues=1, **base)


@pytest.mark.parametrize("row", REPORT, ids=("baseline", "event index", "both", "pinned"))
def test_the_reports_table_is_told_as_it_was(row: tuple[Any, ...]) -> None:
    txn, pkt, exits, sender, receiver, interrupts, exits_per_txn, per_packet = row
    fired = dict(enumerate(round(count * make.SECONDS) for count in interrupts))
    nic_rate = make.nic_rate(1, rx_packets_per_sec=pkt / 2, tx_packets_per_sec=pkt / 2)
    inside = make.view(
        make.snapshot(2, queues=1),
        queues=1,
        irqs={31: make.irq_rate(31, fired), 32: make.irq_rate(32, {})},
        nics={"eth0": nic_rate},
        cpus={cpu: make.cpu_rate(cpu, idle_percent=100 - receiver, steal_percent=0.0) for cpu in (0, 1)},
    )
    tap = made.tap_rate(to_guest_packets_per_sec=pkt / 2, from_guest_packets_per_sec=pkt / 2)
    domain = made.domain_view(
        kvm=made.kvm_rate(per_sec={"exits": exits, "io_exits": 1_234.0}),
        taps=(tap,),
        guest=made.guest(view=inside, nics=(made.joined_nic(tap=tap, nic=make.nic(1), rate=nic_rate),)),
    )
    result = load(transactions=round(txn * 10), seconds=10.0, client_cpu_s=sender / 10)
    told = metrics(made.host_view(domain, interval_s=10.0), result, FROM_HOST)
    assert told.metrics["transactions_per_sec"] == pytest.approx(txn, abs=0.1)
    assert told.metrics["packets_per_sec"] == pytest.approx(pkt)
    assert told.metrics["exits_per_sec"] == exits
    assert told.metrics["exits_per_transaction"] == pytest.approx(exits_per_txn, abs=0.0005)
    assert told.metrics["interrupts_per_packet"] == pytest.approx(per_packet, abs=0.0005)
    assert told.metrics["tx_cpu_percent"] == pytest.approx(sender)
    assert told.metrics["rx_cpu_percent"] == pytest.approx(receiver)
    assert told.metrics["interrupts_per_sec"] == sum(interrupts)
    by_cpu = {str(cpu): float(count) for cpu, count in enumerate(interrupts) if count}
    assert told.queue_interrupts == {"input.0": by_cpu, "output.0": dict.fromkeys(by_cpu, 0.0)}
    assert told.exits_by_kind == {"io_exits": 1_234.0}


def test_every_metric_is_a_number_or_has_its_reason() -> None:
    for view, scope in ((guest_view(), INSIDE), (made.host_view(), FROM_HOST)):
        for result in (load(), load(transactions=None, unit="")):
            told = metrics(view, result, scope)
            names = {one.name for one in METRICS} - ({*OF_PASSIVE, BITS} if result.transactions else set())
            assert told.metrics.keys() | told.missing.keys() == names
            assert not told.metrics.keys() & told.missing.keys()
            assert all(reason for reason in told.missing.values())


def test_a_guest_measures_itself() -> None:
    told = metrics(guest_view(), load(), INSIDE)
    assert told.metrics == {
        "transactions_per_sec": 50_000.0,
        "packets_per_sec": 60_000.0,
        "interrupts_per_sec": 2_000.0,
        "interrupts_per_packet": 0.05,
        "tx_cpu_percent": pytest.approx((10 + 40) / 2),  # of CPUs 0 and 1, which took the interrupts
        "rx_cpu_percent": pytest.approx(35.0),
        # 10 + 40 + 10 + 10 percent, less the 0.15 CPUs of the client
        "cpu_per_transaction_us": pytest.approx((0.7 - 0.15) / 50_000 * 1e6),
        "latency_p50_us": pytest.approx(40, rel=0.01),
        "latency_p99_us": pytest.approx(900, rel=0.01),
        "drops": 8.0,
        "retransmits": 7.0,
        "softnet_squeezes_per_sec": 3.5,
        "steal_percent": 20.0,
    }
    assert told.steal_percent == 20.0
    assert told.seconds == make.SECONDS
    assert told.load is not None
    assert told.load.client_cpus == (3,)
    assert "hypervisor" in told.missing["exits_per_sec"]
    assert told.missing["exits_per_transaction"] == told.missing["exits_per_sec"]


def test_bulk_data_is_told_in_bits() -> None:
    told = metrics(guest_view(), load(transactions=None, value=9.4e9, unit="bit/s"), INSIDE)
    assert told.metrics["bits_per_sec"] == 9.4e9
    assert "bit/s" not in told.metrics
    assert told.missing["transactions_per_sec"] == "the load counts no transactions"


def test_without_a_load_what_passed_the_interfaces_is_told() -> None:
    nic = make.nic_rate(1, rx_bytes_per_sec=1_000.0, tx_bytes_per_sec=250.0)
    told = metrics(guest_view(nics={"eth0": nic}), load(transactions=None, value=None, unit=""), INSIDE)
    assert told.metrics["bits_per_sec"] == 10_000.0
    assert told.metrics["segments_per_sec"] == 5.0 + 6.0
    silent = make.nic_rate(1, rx_bytes_per_sec=0.0, tx_bytes_per_sec=0.0)
    told = metrics(guest_view(nics={"eth0": silent}), load(transactions=None, value=None, unit=""), INSIDE)
    assert told.missing["bits_per_sec"] == "no packets passed within the interval"


def test_the_loads_own_cpu_is_taken_out_where_it_runs_on_the_measured_side() -> None:
    def cpu(scope: Scope, **changes: Any) -> float:
        return metrics(guest_view(), load(**changes), scope).metrics["cpu_per_transaction_us"] / 1e6 * 50_000

    assert cpu(Scope()) == pytest.approx(0.7)
    assert cpu(Scope(client_measured=True)) == pytest.approx(0.7 - 0.15)
    assert cpu(Scope(server_measured=True)) == pytest.approx(0.7 - 0.35)
    assert cpu(Scope(client_measured=True, server_measured=True)) == pytest.approx(0.7 - 0.5)
    assert cpu(Scope(), client_cpu_s=None, server_cpu_s=None) == pytest.approx(0.7)


def test_cpu_that_cannot_be_told_from_the_loads_is_not_told() -> None:
    unknown = metrics(guest_view(), load(client_cpu_s=None), INSIDE)
    assert "client" in unknown.missing["cpu_per_transaction_us"]
    assert unknown.metrics["tx_cpu_percent"] == pytest.approx(25)
    more = metrics(guest_view(), load(client_cpu_s=1.5), INSIDE)
    assert "nothing is left" in more.missing["cpu_per_transaction_us"]


def test_where_both_ends_run_on_the_measured_side_each_has_its_own_processes_cpu() -> None:
    told = metrics(guest_view(), load(), Scope(client_measured=True, server_measured=True))
    assert told.metrics["tx_cpu_percent"] == pytest.approx(15)
    assert told.metrics["rx_cpu_percent"] == pytest.approx(35)


def test_a_cpu_that_took_a_stray_interrupt_is_none_of_the_nics() -> None:
    view = guest_view(irqs={31: make.irq_rate(31, {0: 5, 1: 3_995}), 32: make.irq_rate(32, {})})
    assert metrics(view, load(), INSIDE).metrics["tx_cpu_percent"] == pytest.approx(40)


def test_an_interface_without_interrupts_is_measured_on_all_cpus() -> None:
    after = make.snapshot(nics=(make.nic(1, name="veth0", virtio=None, queue_irqs=()),))
    view = replace(guest_view(), after=after, nics={"veth0": make.nic_rate(1, name="veth0", interrupts_per_sec=None)})
    told = metrics(view, load(), replace(INSIDE, nics=("veth0",)))
    assert told.metrics["tx_cpu_percent"] == pytest.approx(70 / 4)
    assert told.missing["interrupts_per_sec"] == "veth0 has no interrupts of its own"
    assert told.metrics["packets_per_sec"] == 60_000.0


def test_a_vector_that_queues_share_counts_whole() -> None:
    irqs = (QueueIrq(31, QueueRole.SHARED_QUEUES, None), QueueIrq(30, QueueRole.CONFIG, None))
    after = make.snapshot(queues=1, nics=(make.nic(1, queue_irqs=irqs),))
    told = metrics(replace(guest_view(), after=after), load(), INSIDE)
    assert told.metrics["interrupts_per_packet"] == 0.05
    assert told.queue_interrupts == {"virtqueues": {"0": 1_500.0, "1": 500.0}}


def test_queues_of_several_interfaces_are_told_apart() -> None:
    second = make.nic(1, name="eth1", queue_irqs=(QueueIrq(41, QueueRole.INPUT, 0),))
    base = guest_view()
    view = replace(
        base,
        after=make.snapshot(queues=1, nics=(make.nic(1), second)),
        nics=base.nics | {"eth1": make.nic_rate(1, name="eth1")},
        irqs={**base.irqs, 41: make.irq_rate(41, {2: 800})},
    )
    told = metrics(view, load(), INSIDE)
    assert told.queue_interrupts["eth1 input.0"] == {"0": 0.0, "1": 0.0, "2": 400.0}
    assert told.metrics["interrupts_per_packet"] == (2_000 + 400) / 80_000
    assert told.metrics["packets_per_sec"] == 120_000.0


def test_a_counter_that_fell_is_missing_with_its_reason() -> None:
    fell = Missing("nic.eth0.rx_packets", "statistics/rx_packets", Reason.UNKNOWABLE, "the counter fell: it was reset")
    view = guest_view(nics={"eth0": make.nic_rate(1, rx_packets_per_sec=None)}, missing=(fell,))
    told = metrics(view, load(), INSIDE)
    for name in ("packets_per_sec", "interrupts_per_packet"):
        assert told.missing[name] == "nic.eth0.rx_packets: the counter fell: it was reset"
    assert told.metrics["interrupts_per_sec"] == 2_000


def test_an_interrupt_that_came_within_the_interval_leaves_no_sum() -> None:
    told = metrics(guest_view(irqs={31: make.irq_rate(31, {0: 3_000})}), load(), INSIDE)
    assert "interrupt 32 of eth0" in told.missing["interrupts_per_sec"]
    assert told.metrics["interrupts_per_packet"] == 1_500 / 40_000


def test_a_cpu_without_times_leaves_no_sum() -> None:
    view = guest_view()
    told = metrics(replace(view, cpus={cpu: view.cpus[cpu] for cpu in (0, 1, 3)}), load(), INSIDE)
    assert told.missing["cpu_per_transaction_us"] == "CPU 2: its times are not known"
    assert told.metrics["tx_cpu_percent"] == pytest.approx(25)


def test_counters_of_another_interval_are_not_divided_by_the_loads() -> None:
    near = metrics(made.host_view(interval_s=2.1), load(), replace(FROM_HOST, guest=False))
    assert near.metrics["exits_per_transaction"] == pytest.approx(1.2)
    far = metrics(made.host_view(interval_s=2.2), load(), replace(FROM_HOST, guest=False))
    for name in ("exits_per_transaction", "cpu_per_transaction_us"):
        assert far.missing[name].endswith("differ by more than 5%")
    assert far.metrics["exits_per_sec"] == 60_000.0


def test_without_rates_only_the_load_tells() -> None:
    told = metrics(replace(guest_view(), rates_reason="the machine was suspended"), load(), INSIDE)
    assert set(told.metrics) == {"transactions_per_sec", "latency_p50_us", "latency_p99_us", "rx_cpu_percent"}
    assert told.missing["packets_per_sec"] == "the machine was suspended"


def test_without_a_load_only_what_holds_for_any_traffic_is_told() -> None:
    told = metrics(made.host_view(), load(transactions=None, unit=""), replace(FROM_HOST, guest=False))
    assert told.metrics["exits_per_packet"] == 1.0
    assert told.metrics["packets_per_sec"] == 60_000.0
    assert told.metrics["cpu_per_packet_us"] == pytest.approx(1.53 / 60_000 * 1e6)
    for name in ("transactions_per_sec", "exits_per_sec", "latency_p99_us", "vhost_cpu_percent"):
        assert told.missing[name] == PASSIVE
    inside = metrics(guest_view(), load(transactions=None, unit=""), INSIDE)
    assert inside.metrics["interrupts_per_packet"] == 0.05
    assert inside.metrics["drops"] == 8.0


def test_a_wire_without_packets_is_not_measured_as_a_rate_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = replace(domain_side.seen(made.host_view(), FROM_HOST), packets_per_sec=0.0)
    monkeypatch.setattr(domain_side, "seen", lambda *_: silent)
    told = metrics(made.host_view(), load(transactions=None, unit=""), FROM_HOST)
    assert (
        told.missing["packets_per_sec"] == told.missing["exits_per_packet"] == "no packets passed within the interval"
    )


def test_what_a_load_says_in_its_own_unit_is_a_metric_of_that_name() -> None:
    told = metrics(guest_view(), load(transactions=None, value=9.4e9, unit="bits/s"), INSIDE)
    assert told.metrics["bits/s"] == 9.4e9
    assert told.missing["transactions_per_sec"] == "the load counts no transactions"
    assert told.missing["cpu_per_transaction_us"] == "the load counts no transactions"
    said = metrics(guest_view(), load(transactions=None, value=1_234.0), INSIDE)
    assert said.metrics["transactions_per_sec"] == 1_234.0
    posing = metrics(guest_view(), load(transactions=None, value=1_234.0, unit="drops"), INSIDE)
    assert posing.metrics["drops"] == 8.0


def test_waits_for_locks_are_told_where_they_were_counted() -> None:
    waits = Contention({0: 30.5, 1: 2.0}, None, SpinVisibility.EVERY, None, (), None, 0, 0, False, 0, 0.0, ())
    assert metrics(guest_view(contention=waits), load(), INSIDE).metrics["lock_waits_per_sec"] == 32.5
    hidden = replace(waits, per_cpu_per_sec=None, counted_reason="perf_event_paranoid forbids it")
    assert metrics(guest_view(contention=hidden), load(), INSIDE).missing["lock_waits_per_sec"] == (
        "perf_event_paranoid forbids it"
    )


def test_no_transactions_and_no_latency_are_no_zero() -> None:
    told = metrics(guest_view(), load(transactions=0, latency=None), INSIDE)
    assert told.metrics["transactions_per_sec"] == 0
    assert told.missing["cpu_per_transaction_us"] == "no transaction came to its end"
    assert told.missing["latency_p99_us"] == "the load measures no latency"


def test_a_program_that_ran_for_longer_on_either_side_had_the_same_rate_within() -> None:
    def told(*, wider: bool, seconds: float) -> Measured:
        result = load(transactions=round(50_000 * seconds), seconds=seconds, wider=wider, client_cpu_s=0.1 * seconds)
        return metrics(guest_view(), result, INSIDE)

    whole = told(wider=True, seconds=1.5 * make.SECONDS)
    assert whole.metrics["cpu_per_transaction_us"] == pytest.approx((0.7 - 0.1) / 50_000 * 1e6)
    assert "differ by more than 5%" in told(wider=False, seconds=1.5 * make.SECONDS).missing["cpu_per_transaction_us"]
    assert "differ by more than 5%" in told(wider=True, seconds=0.5 * make.SECONDS).missing["cpu_per_transaction_us"]

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make
from tuneagent import rates
from tuneagent.model.clock import Clock
from tuneagent.model.counters import (
    CpuTime,
    CpuTimes,
    InterruptRow,
    Interrupts,
    Protocols,
    Softirqs,
    Softnet,
    SoftnetRow,
)
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.nic import LinkStatistics, Nic, QueueStatistics, TxQueue
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import Growth, View
from tuneagent.rates import counters
from tuneagent.rates.comparison import Comparison

S = 10**9
START = Clock(100 * S, 150 * S, 1_700_000_000 * S)


def clock(seconds: float, slept: float = 0.0) -> Clock:
    """START, so many seconds awake and so many asleep later."""
    awake, asleep = round(seconds * S), round(slept * S)
    return Clock(START.monotonic_ns + awake, START.boottime_ns + awake + asleep, START.realtime_ns + awake + asleep)


def row(irq: int, *counts: int, action: str = "virtio0-input.0", **changes: Any) -> InterruptRow:
    base = InterruptRow(
        str(irq), irq, counts, sum(counts), "PCI-MSIX-0000:00:03.0", "1-edge", "edge", (action,), action, f"{irq}:"
    )
    return replace(base, **changes)


def table(*rows: InterruptRow, cpus: tuple[int, ...] = (0, 1), at_s: float | None = None) -> Interrupts:
    return Interrupts(cpus, rows, None if at_s is None else START.monotonic_ns + round(at_s * S))


def looked(seconds: float = 0.0, **changes: Any) -> Snapshot:
    return make.snapshot(cpus=2, queues=1, clock=clock(seconds), **changes)


def compared(before: Interrupts, after: Interrupts, seconds: float = 2.0) -> View:
    return rates.view(looked(interrupts=before), looked(seconds, interrupts=after))


def whats(view: View) -> dict[str, Missing]:
    return {one.what: one for one in view.missing}


# One counter


@pytest.mark.parametrize(
    ("before", "after", "growth"),
    [
        (4_294_960_000, 4704, 12_000),
        (0xFFFFFFF0, 0x10, 32),
        (0xFFFFFFFF, 0, 1),
        (7, 7, 0),
        (7, 19, 12),
        (1_000_000, 40, None),
        (2**32 + 5, 3, None),
    ],
)
def test_a_32_bit_counter_wraps_only_where_a_wrap_is_plausible(before: int, after: int, growth: int | None) -> None:
    assert counters.delta_32(before, after, 2.0) == growth


def test_how_much_a_wrap_may_mean_depends_on_the_time_that_passed() -> None:
    before = counters.WRAP_32 - 60_000_000

    assert counters.delta_32(before, 0, 1.0) is None
    assert counters.delta_32(before, 0, 2.0) == 60_000_000


@pytest.mark.parametrize(
    ("before", "after", "growth"),
    [(2**40, 2**40 + 9, 9), (2**64 - 1, 5, None), (None, 5, None), (5, None, None), (6, 6, 0)],
)
def test_a_64_bit_counter_never_wraps(before: int | None, after: int | None, growth: int | None) -> None:
    assert counters.delta_64(before, after) == growth


# Interrupts


def test_an_interrupt_is_counted_by_cpu_and_divided_by_the_seconds() -> None:
    view = compared(table(row(38, 100, 50)), table(row(38, 1100, 53)), seconds=4.0)

    rate = view.irqs[38]
    assert (rate.count, rate.per_cpu, rate.per_sec, rate.seconds) == (1003, {0: 1000, 1: 3}, 250.75, 4.0)
    assert rate.per_cpu_per_sec == {0: 250.0, 1: 0.75}


def test_a_count_that_wraps_on_one_cpu_is_unwrapped() -> None:
    view = compared(table(row(38, 4_294_960_000, 7)), table(row(38, 4704, 8)))

    assert view.irqs[38].per_cpu == {0: 12_000, 1: 1}


def test_a_count_that_was_reset_gives_no_rate_and_a_reason() -> None:
    view = compared(table(row(38, 5000, 7), row(39, 1, 2)), table(row(38, 12, 9), row(39, 1, 6)))

    assert set(view.irqs) == {39}
    assert whats(view)["irq.38"] == Missing(
        "irq.38", "/proc/interrupts", Reason.UNKNOWABLE, "the count on CPU 0 fell: it was reset"
    )


def test_a_number_that_stands_twice_gives_no_rate_and_a_reason() -> None:
    view = compared(table(row(38, 5, 7), row(38, 9, 9), row(39, 1, 2)), table(row(38, 15, 17), row(39, 2, 2)))

    assert (set(view.irqs), view.irqs_gone, view.irqs_new) == ({39}, (), ())
    assert "stands in it twice" in whats(view)["irq.38"].detail


def test_an_interrupt_that_stood_still_has_the_rate_zero() -> None:
    view = compared(table(row(38, 5, 7)), table(row(38, 5, 7)))

    assert (view.irqs[38].count, view.irqs[38].per_cpu) == (0, {})


def test_rows_that_came_and_went_are_listed_and_have_no_rate() -> None:
    view = compared(table(row(38, 5, 7), row(39, 1, 2)), table(row(39, 2, 2), row(44, 8, 9)))

    assert (set(view.irqs), view.irqs_gone, view.irqs_new) == ({39}, (38,), (44,))


@pytest.mark.parametrize("change", [{"actions": ("nvme0q1",)}, {"chip": "IO-APIC"}, {"hwirq": "9-edge"}])
def test_a_number_given_to_another_device_is_another_interrupt(change: dict[str, Any]) -> None:
    view = compared(table(row(38, 5, 7)), table(row(38, 500, 700, **change)))

    assert (view.irqs, view.irqs_gone, view.irqs_new) == ({}, (38,), (38,))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("virtio0",), ("virtio0", "uhci_hcd:usb1")),
        (("i801_smbus", "virtio0"), ("virtio0", "ahci")),
        ((), ("virtio0-input.0",)),
        (("virtio0",), ()),
    ],
)
def test_a_handler_that_joins_or_leaves_leaves_the_same_interrupt(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    view = compared(table(row(11, 5, 7, actions=before)), table(row(11, 65, 8, actions=after)))

    assert (view.irqs[11].per_cpu, view.irqs_gone, view.irqs_new) == ({0: 60, 1: 1}, (), ())


def test_rows_of_the_architecture_are_no_interrupts_of_a_device() -> None:
    local = replace(row(0, 5, 9), irq=None, label="LOC", actions=())

    assert compared(table(local), table(replace(local, counts=(50, 90)))).irqs == {}


def test_a_cpu_that_came_is_left_out_of_the_counts_and_named() -> None:
    view = compared(table(row(38, 10, 20), cpus=(0, 3)), table(row(38, 11, 900, 26), cpus=(0, 2, 3)))

    assert view.irqs[38].per_cpu == {0: 1, 3: 6}
    assert whats(view)["interrupts.cpu2"].reason is Reason.UNKNOWABLE


def test_a_cpu_that_went_is_left_out_of_the_counts_and_named() -> None:
    view = compared(table(row(38, 10, 900, 20), cpus=(0, 2, 5)), table(row(38, 14, 27), cpus=(0, 5)))

    assert view.irqs[38].per_cpu == {0: 4, 5: 7}
    assert "interrupts.cpu2" in whats(view)


def test_equal_numbers_under_other_cpus_are_not_taken_for_no_growth() -> None:
    # CPU 1 fell from 7 to 5: the columns are compared by CPU, never by position.
    view = compared(table(row(38, 5, 7), cpus=(0, 1)), table(row(38, 5, 7), cpus=(1, 2)))

    assert view.irqs == {}
    assert "CPU 1" in whats(view)["irq.38"].detail


def test_a_table_is_divided_by_the_time_between_its_own_two_reads() -> None:
    before, after = table(row(38, 0, 100), at_s=0.5), table(row(38, 0, 1100), at_s=3.0)

    view = rates.view(looked(interrupts=before), looked(2.0, interrupts=after))

    assert view.interval_s == 2.0
    assert (view.irqs[38].seconds, view.irqs[38].per_sec) == (2.5, 400.0)


def test_reads_without_a_time_or_out_of_order_are_divided_by_the_interval() -> None:
    for first, last in ((None, 3.0), (0.5, None), (3.0, 0.5)):
        view = compared(table(row(38, 0, 100), at_s=first), table(row(38, 0, 1100), at_s=last))
        assert view.irqs[38].seconds == 2.0


def test_without_a_table_there_are_no_interrupt_rates() -> None:
    view = rates.view(looked(), looked(2.0, interrupts=table(row(38, 1, 2))))

    assert (view.irqs, view.irqs_gone, view.irqs_new) == ({}, (), ())


# The interval


def no_rates(before: Snapshot, after: Snapshot, **options: float) -> str:
    view = rates.view(before, after, **options)
    assert (view.irqs, view.nics, view.cpus, view.protocols, view.interval_s) == ({}, {}, {}, None, None)
    assert (view.before, view.after) == (before, after)
    assert whats(view)["rates"].detail == view.rates_reason
    return view.rates_reason or ""


def pair(later: Clock | None) -> tuple[Snapshot, Snapshot]:
    before = looked(interrupts=table(row(38, 1, 2)))
    return before, replace(before, clock=later, interrupts=table(row(38, 5, 9)))


def test_a_suspend_within_the_interval_gives_no_rates() -> None:
    assert "suspended for 30.0 s" in no_rates(*pair(clock(2.0, slept=30.0)))


def test_readings_of_two_clocks_that_are_not_atomic_are_no_suspend() -> None:
    assert rates.view(*pair(clock(2.0, slept=0.4))).rates_reason is None


def test_a_reboot_gives_no_rates() -> None:
    before, after = pair(clock(2.0))
    assert after.identity is not None
    other = replace(after, identity=replace(after.identity, boot_id="c"))

    assert "rebooted" in no_rates(before, other)


def test_an_unknown_boot_id_is_no_reboot() -> None:
    before, after = pair(clock(2.0))
    assert after.identity is not None

    assert rates.view(before, replace(after, identity=replace(after.identity, boot_id=None))).rates_reason is None
    assert rates.view(before, replace(after, identity=None)).rates_reason is None


@pytest.mark.parametrize("seconds", [-5.0, 0.0])
def test_a_clock_that_does_not_advance_gives_no_rates(seconds: float) -> None:
    assert "not later" in no_rates(*pair(clock(seconds)))


def test_an_interval_of_less_than_a_few_ticks_gives_no_rates() -> None:
    assert "too short" in no_rates(*pair(clock(0.049)))
    assert rates.view(*pair(clock(0.051))).rates_reason is None


def test_a_gap_where_a_short_period_was_meant_gives_no_rates() -> None:
    assert no_rates(*pair(clock(7200.0)), expected_s=2.0).startswith("7200 s passed where 2 s were meant")
    assert rates.view(*pair(clock(5.9)), expected_s=2.0).rates_reason is None
    assert rates.view(*pair(clock(7200.0))).rates_reason is None


def test_without_a_clock_the_stated_interval_counts() -> None:
    before, after = pair(None)

    view = rates.view(before, after, 4.0)

    assert (view.interval_s, view.irqs[38].per_sec) == (4.0, 11 / 4)
    assert "no clock" in no_rates(before, after)
    assert "too short" in no_rates(before, after, interval_s=0.01)


def test_a_clock_wins_over_the_stated_interval() -> None:
    assert rates.view(*pair(clock(2.0)), interval_s=50.0).interval_s == 2.0


def test_one_sample_has_no_rates_and_says_why() -> None:
    view = rates.alone(looked())

    assert (view.before, view.interval_s, view.irqs, view.nics) == (None, None, {}, {})
    assert view.rates_reason == whats(view)["rates"].detail == "one sample only: rates need two"


def test_what_both_samples_miss_is_listed_once() -> None:
    gone = Missing("softnet", "/proc/net/softnet_stat", Reason.ABSENT, "No such file or directory")
    other = replace(gone, what="cpu_times", source="/proc/stat")

    view = rates.view(looked(missing=(gone,)), looked(2.0, missing=(gone, other)))

    assert view.missing == (gone, other)


# Interfaces


def statistics(at_s: float | None = None, **counts: int | None) -> LinkStatistics:
    base = LinkStatistics(11, 22, 33, 44, 55, 66, 77, 88, 99, 110)
    return replace(base, **counts, read_at_ns=None if at_s is None else START.monotonic_ns + round(at_s * S))


def nics(before: Nic, after: Nic, **more: Any) -> View:
    return rates.view(looked(nics=(before,), **more), looked(2.0, nics=(after,), **more))


def eth0(**changes: Any) -> Nic:
    return make.nic(1, **changes)


def test_link_counters_become_rates_over_their_own_time() -> None:
    grown = statistics(
        2.0,
        rx_packets=11 + 4000,
        tx_packets=22 + 2000,
        rx_bytes=33 + 8000,
        tx_bytes=44 + 6000,
        rx_errors=55 + 4,
        tx_errors=66 + 8,
        rx_dropped=77 + 12,
        tx_dropped=88 + 16,
        rx_missed_errors=99 + 20,
    )

    rate = nics(eth0(statistics=statistics(0.0)), eth0(statistics=grown)).nics["eth0"]

    assert (rate.rx_packets_per_sec, rate.tx_packets_per_sec, rate.packets_per_sec) == (2000.0, 1000.0, 3000.0)
    assert (rate.rx_bytes_per_sec, rate.tx_bytes_per_sec) == (4000.0, 3000.0)
    assert (rate.rx_errors_per_sec, rate.tx_errors_per_sec, rate.rx_missed_per_sec) == (2.0, 4.0, 10.0)
    assert (rate.rx_drops_per_sec, rate.tx_drops_per_sec) == (6.0, 8.0)


def test_a_link_counter_that_fell_is_unknown_and_the_others_are_not() -> None:
    view = nics(eth0(statistics=statistics(tx_packets=2**40)), eth0(statistics=statistics(tx_packets=3, rx_packets=21)))

    assert view.nics["eth0"].tx_packets_per_sec is None
    assert view.nics["eth0"].rx_packets_per_sec == 5.0
    assert whats(view)["nic.eth0.tx_packets"].source == "/sys/class/net/eth0/statistics/tx_packets"


def test_a_link_counter_that_cannot_be_read_is_unknown_not_zero() -> None:
    rate = nics(eth0(statistics=statistics()), eth0(statistics=statistics(rx_dropped=None))).nics["eth0"]
    nothing = nics(eth0(), eth0()).nics["eth0"]

    assert (rate.rx_drops_per_sec, rate.tx_drops_per_sec) == (None, 0.0)
    assert (nothing.rx_packets_per_sec, nothing.packets_per_sec, nothing.rx_interrupts_per_packet) == (None, None, None)


def test_a_renamed_interface_went_and_came() -> None:
    view = nics(eth0(statistics=statistics()), eth0(name="lan", statistics=statistics()))

    assert view.nics == {}
    assert "came" in whats(view)["nic.lan"].detail
    assert "went" in whats(view)["nic.eth0"].detail


@pytest.mark.parametrize(
    "change", [{"mac": "52:54:00:00:00:01"}, {"bus_address": "0000:00:09.0"}, {"ifindex": 7}], ids=str
)
def test_another_device_under_the_same_name_gives_no_rate(change: dict[str, Any]) -> None:
    view = nics(eth0(statistics=statistics()), eth0(statistics=statistics(rx_packets=999), **change))

    assert view.nics == {}
    assert whats(view)["nic.eth0"].detail == "another device has this name now"


def test_interrupts_per_packet_come_from_the_interface_own_interrupts() -> None:
    before = table(row(31, 10, 0), row(32, 20, 0, action="virtio0-output.0"), row(30, 1, 0, action="virtio0-config"))
    after = table(
        row(31, 410, 0), row(32, 120, 0, action="virtio0-output.0"), row(30, 1001, 0, action="virtio0-config")
    )
    grown = statistics(rx_packets=11 + 4000, tx_packets=22 + 1000)

    view = rates.view(
        looked(interrupts=before, nics=(eth0(statistics=statistics()),)),
        looked(2.0, interrupts=after, nics=(eth0(statistics=grown),)),
    )

    rate = view.nics["eth0"]
    assert rate.interrupts_per_sec == 250.0  # the configuration interrupt's 500/s are not a queue's
    assert (rate.rx_interrupts_per_packet, rate.tx_interrupts_per_packet) == (0.1, 0.1)
    assert rate.interrupts_per_packet == 0.1
    (queue,) = rate.queues
    assert (queue.rx_irq, queue.tx_irq) == (31, 32)
    assert (queue.rx_interrupts_per_sec, queue.tx_interrupts_per_sec) == (200.0, 50.0)


def test_one_unknown_interrupt_makes_the_sum_unknown() -> None:
    before = table(row(31, 10, 0), row(32, 9000, 0, action="virtio0-output.0"))
    after = table(row(31, 410, 0), row(32, 1, 0, action="virtio0-output.0"))

    view = rates.view(
        looked(interrupts=before, nics=(eth0(statistics=statistics()),)),
        looked(2.0, interrupts=after, nics=(eth0(statistics=statistics(rx_packets=4011)),)),
    )

    rate = view.nics["eth0"]
    assert (rate.interrupts_per_sec, rate.interrupts_per_packet, rate.tx_interrupts_per_packet) == (None, None, None)
    assert rate.rx_interrupts_per_packet == 0.1


def queue(index: int, **counts: Any) -> QueueStatistics:
    return replace(QueueStatistics(index), **counts)


def test_queue_counters_become_rates_over_their_own_time() -> None:
    at = START.monotonic_ns
    old = eth0(
        statistics=statistics(),
        queue_statistics=(queue(0, rx_packets=10, tx_packets=20, rx_kicks=30, tx_kicks=40, rx_drops=50, tx_drops=60),),
        queue_statistics_read_at_ns=at,
    )
    new = eth0(
        statistics=statistics(rx_packets=11 + 2000, tx_packets=22 + 400),
        queue_statistics=(
            queue(0, rx_packets=4010, tx_packets=820, rx_kicks=70, tx_kicks=440, rx_drops=54, tx_drops=68),
        ),
        queue_statistics_read_at_ns=at + 4 * S,
    )

    rate = nics(old, new).nics["eth0"]

    (one,) = rate.queues
    assert (one.rx_packets_per_sec, one.tx_packets_per_sec) == (1000.0, 200.0)
    assert (one.rx_kicks_per_sec, one.tx_kicks_per_sec) == (10.0, 100.0)
    assert (one.rx_drops_per_sec, one.tx_drops_per_sec) == (1.0, 2.0)
    assert (rate.rx_kicks_per_packet, rate.tx_kicks_per_packet) == (0.01, 0.5)


def test_a_queue_counter_that_fell_is_unknown_with_its_reason() -> None:
    view = nics(
        eth0(queue_statistics=(queue(0, rx_packets=10, tx_kicks=40),)),
        eth0(queue_statistics=(queue(0, rx_packets=3, tx_kicks=60),)),
    )

    (one,) = view.nics["eth0"].queues
    assert (one.rx_packets_per_sec, one.tx_kicks_per_sec) == (None, 10.0)
    assert whats(view)["nic.eth0.queue0.rx_packets"].reason is Reason.UNKNOWABLE


def test_a_queue_that_came_within_the_interval_has_no_packet_rate() -> None:
    rate = nics(
        eth0(queue_statistics=(queue(0, tx_kicks=40),)),
        eth0(queue_statistics=(queue(0, tx_kicks=60), queue(1, tx_kicks=900))),
    ).nics["eth0"]

    assert [(one.index, one.tx_kicks_per_sec) for one in rate.queues] == [(0, 10.0), (1, None)]
    assert rate.tx_kicks_per_packet is None


@pytest.mark.parametrize(("after", "expected"), [(5, 3), (2, 0), (1, None), (None, None)])
def test_watchdog_firings_are_counted_within_the_interval(after: int | None, expected: int | None) -> None:
    old, new = eth0(tx_queues=(TxQueue(0, None, 2),)), eth0(tx_queues=(TxQueue(0, None, after),))

    assert nics(old, new).nics["eth0"].tx_timeouts == expected


# CPUs


def ticks(cpu: int, **counts: Any) -> CpuTime:
    base = CpuTime(
        cpu, user=100, nice=20, system=300, idle=4000, iowait=50, irq=6, softirq=70, steal=8, guest=90, guest_nice=10
    )
    return replace(base, **counts)


def times(before: tuple[CpuTime, ...], after: tuple[CpuTime, ...]) -> View:
    return rates.view(looked(cpu_times=CpuTimes(before)), looked(2.0, cpu_times=CpuTimes(after)))


def test_shares_are_of_the_ticks_that_passed_and_guest_time_is_not_counted_twice() -> None:
    later = ticks(
        1, user=140, nice=24, system=310, idle=4080, iowait=70, irq=10, softirq=100, steal=20, guest=130, guest_nice=14
    )

    cpu = times((ticks(1),), (later,)).cpus[1]

    assert cpu.ticks == 200
    assert (cpu.softirq_percent, cpu.irq_percent, cpu.steal_percent, cpu.idle_percent) == (15.0, 2.0, 6.0, 50.0)


@pytest.mark.parametrize("step", [1, 2])
def test_idle_time_that_steps_back_a_tick_is_no_reset(step: int) -> None:
    cpu = times((ticks(0),), (ticks(0, idle=4000 - step, iowait=50 - step, softirq=170),)).cpus[0]

    assert (cpu.idle_percent, cpu.softirq_percent, cpu.ticks) == (0.0, 100.0, 100)


@pytest.mark.parametrize("change", [{"idle": 3990}, {"softirq": 69, "user": 200}, {}], ids=["idle", "softirq", "still"])
def test_time_that_fell_or_stood_still_is_unknown(change: dict[str, int]) -> None:
    view = times((ticks(0), ticks(1)), (ticks(0, **change), ticks(1, idle=4100)))

    assert set(view.cpus) == {1}
    assert whats(view)["cpu0"].source == "/proc/stat"


def test_a_column_that_the_kernel_lacks_is_unknown_and_not_zero() -> None:
    old = ticks(0, steal=None, guest=None, guest_nice=None)

    cpu = times((old,), (replace(old, softirq=80, idle=4090),)).cpus[0]

    assert (cpu.steal_percent, cpu.softirq_percent) == (None, 10.0)


def test_cpus_that_came_or_went_have_no_shares_and_are_named() -> None:
    view = times((ticks(0), ticks(2)), (ticks(0, idle=4100), ticks(5, idle=9000)))

    assert set(view.cpus) == {0}
    assert {"cpu2", "cpu5"} <= whats(view).keys()


def test_softnet_is_compared_by_cpu_and_each_counter_wraps_at_32_bits() -> None:
    before = Softnet((SoftnetRow(0, 1000, 20, 30, 40), SoftnetRow(3, 0xFFFFFFF0, 5, 6, 7)), 13, None, 100 * S)
    after = Softnet(
        (SoftnetRow(3, 0x10, 9, 16, 27), SoftnetRow(7, 8, 8, 8, 8), SoftnetRow(0, 5000, 60, 10, 48)), 13, None, 104 * S
    )

    view = rates.view(looked(softnet=before), looked(2.0, softnet=after))

    three, zero = view.cpus[3], view.cpus[0]
    assert (three.softnet_processed_per_sec, three.softnet_dropped_per_sec) == (8.0, 1.0)
    assert (three.softnet_squeezed_per_sec, three.softnet_rps_per_sec) == (2.5, 5.0)
    assert (zero.softnet_processed_per_sec, zero.softnet_squeezed_per_sec) == (1000.0, None)
    assert "cpu0.softnet.time_squeeze" in whats(view)
    assert 7 not in view.cpus


def test_softnet_rows_of_unknown_cpus_and_absent_columns_give_nothing() -> None:
    before = Softnet((SoftnetRow(None, 1, 2, 3), SoftnetRow(1, 4, 5, 6)), 9)
    after = Softnet((SoftnetRow(None, 10, 20, 30), SoftnetRow(1, 44, 5, 6)), 9)

    view = rates.view(looked(softnet=before), looked(2.0, softnet=after))

    assert set(view.cpus) == {1}
    assert (view.cpus[1].softnet_processed_per_sec, view.cpus[1].softnet_rps_per_sec) == (20.0, None)
    assert view.cpus[1].idle_percent is None


def test_softirqs_are_compared_by_cpu_and_only_of_online_cpus() -> None:
    before = Softirqs((0, 1, 4), {"NET_RX": (10, 900, 30), "NET_TX": (1, 2, 3), "TIMER": (5, 6, 7)}, 100 * S)
    after = Softirqs((0, 1, 4), {"NET_RX": (50, 100, 70), "NET_TX": (9, 4, 5), "TIMER": (8, 9, 9)}, 104 * S)

    view = rates.view(looked(softirqs=before), looked(2.0, softirqs=after))

    assert set(view.cpus) == {0, 1}
    assert (view.cpus[0].net_rx_softirqs_per_sec, view.cpus[0].net_tx_softirqs_per_sec) == (10.0, 2.0)
    assert (view.cpus[1].net_rx_softirqs_per_sec, view.cpus[1].net_tx_softirqs_per_sec) == (None, 0.5)
    assert "cpu1.softirqs.NET_RX" in whats(view)


# Protocols


def test_protocol_counters_become_rates_and_a_fallen_or_absent_one_is_unknown() -> None:
    before = Protocols({"Tcp": {"InSegs": 10, "OutSegs": 20, "RetransSegs": 30}, "Udp": {"InDatagrams": 40}}, 100 * S)
    after = Protocols({"Tcp": {"InSegs": 50, "OutSegs": 100, "RetransSegs": 29}, "Udp": {"InDatagrams": 44}}, 104 * S)

    view = rates.view(looked(protocols=before), looked(2.0, protocols=after))

    assert view.protocols is not None
    assert (view.protocols.tcp_in_segments_per_sec, view.protocols.tcp_out_segments_per_sec) == (10.0, 20.0)
    assert view.protocols.tcp_retransmits_per_sec is None
    assert view.protocols.udp_in_datagrams_per_sec == 1.0
    assert view.protocols.udp_receive_errors_per_sec is None
    assert whats(view)["protocols.Tcp.RetransSegs"].reason is Reason.UNKNOWABLE


def test_growth_that_cannot_be_is_no_rate() -> None:
    both = Comparison(make.snapshot(), make.snapshot(), 2.0)

    assert both.rate("nic.eth0.rx_packets", "f", (5, 2**64 - 1), 2.0) is None
    assert both.rate("nic.eth0.rx_packets", "f", (5, 25), 2.0) == 10.0
    assert [one.what for one in both.missing] == ["nic.eth0.rx_packets"]
    assert counters.delta_32(5, 2**64 - 1, 2.0) is None
    assert counters.delta_32(0, 2**31, 2.0) is None


def test_the_times_of_a_tables_reads_are_believed_only_near_the_interval() -> None:
    both = Comparison(make.snapshot(), make.snapshot(), 2.0)

    assert both.between(10**9, 4 * 10**9) == 3.0
    assert both.between(10**9, 10**9 + 1) == 2.0
    assert both.between(10**9, 2**64 - 1) == 2.0
    assert both.between(None, 10**9) == 2.0


def test_growth_is_worked_out_when_asked_for_and_equals_a_dict() -> None:
    growth = Growth((0, 1, 5), (10, 20, 30), (11, 20, 37))

    assert growth == {0: 1, 5: 7}
    assert (len(growth), list(growth), growth[5], growth.get(1)) == (2, [0, 5], 7, None)
    assert (dict(growth.items()), sorted(growth.values())) == ({0: 1, 5: 7}, [1, 7])

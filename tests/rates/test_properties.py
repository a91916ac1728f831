"""Whatever two samples hold: no rate is negative, nothing raises, and the parts add up to the whole."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

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
from tuneagent.model.nic import LinkStatistics, QueueStatistics
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.rates import counters

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
MAYBE = st.none() | U64
READ_AT = st.none() | st.integers(0, 10**12)
CPUS = st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True).map(lambda cpus: tuple(sorted(cpus)))


@st.composite
def interrupts(draw: st.DrawFn) -> Interrupts:
    cpus = draw(CPUS)
    counts = st.tuples(*[U32 | U64] * len(cpus)) | st.just(())
    numbers = draw(st.lists(st.none() | st.integers(30, 33), max_size=5))
    rows = tuple(
        InterruptRow(str(irq), irq, draw(counts), None, draw(st.sampled_from(["A", "B"])), None, None, ("h",), None, "")
        for irq in numbers
    )
    return Interrupts(cpus, rows, draw(READ_AT))


@st.composite
def softnet(draw: st.DrawFn) -> Softnet:
    row = st.builds(SoftnetRow, st.none() | st.integers(0, 5), U32, U32, U32, st.none() | U32)
    # The parser gives no CPU id to rows that share one.
    rows = draw(st.lists(row, max_size=4, unique_by=lambda one: one.cpu))
    return Softnet(tuple(rows), 13, None, draw(READ_AT))


@st.composite
def softirqs(draw: st.DrawFn) -> Softirqs:
    cpus = draw(CPUS)
    counts = {"NET_RX": draw(st.tuples(*[U32] * len(cpus))), "NET_TX": draw(st.tuples(*[U32] * len(cpus)))}
    return Softirqs(cpus, counts, draw(READ_AT))


SMALL = st.integers(0, 500)
TIMES = st.lists(
    st.builds(CpuTime, st.integers(0, 5), SMALL, SMALL, SMALL, SMALL, *[st.none() | SMALL] * 6), max_size=4
).map(lambda rows: CpuTimes(tuple(rows)))
LINK = st.builds(LinkStatistics, *[MAYBE] * 10, read_at_ns=READ_AT)
QUEUES = st.lists(st.builds(QueueStatistics, st.integers(0, 2), *[MAYBE] * 9), max_size=3).map(tuple)
NAMES = st.dictionaries(st.sampled_from(["InSegs", "OutSegs", "RetransSegs", "InErrors"]), U64)
PROTOCOLS = st.builds(Protocols, st.dictionaries(st.sampled_from(["Tcp", "Udp"]), NAMES), READ_AT)
CLOCKS = st.none() | st.builds(Clock, *[st.integers(0, 10**12)] * 3)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    nic = make.nic(
        draw(st.integers(1, 2)),
        statistics=draw(st.none() | LINK),
        queue_statistics=draw(st.none() | QUEUES),
        queue_statistics_read_at_ns=draw(READ_AT),
    )
    return make.snapshot(
        clock=draw(CLOCKS),
        interrupts=draw(st.none() | interrupts()),
        softnet=draw(st.none() | softnet()),
        softirqs=draw(st.none() | softirqs()),
        cpu_times=draw(st.none() | TIMES),
        protocols=draw(st.none() | PROTOCOLS),
        nics=(nic,),
    )


def numbers(value: Any, place: str = "view") -> Iterator[tuple[str, float]]:
    """Every number that the rates hold."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from numbers(getattr(value, field.name), f"{place}.{field.name}")
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from numbers(entry, f"{place}[{key}]")
    elif isinstance(value, tuple):
        for entry in value:
            yield from numbers(entry, place)
    elif isinstance(value, int | float):
        yield place, value


def all_rates(view: View) -> Iterator[tuple[str, float]]:
    yield from numbers((view.irqs, view.nics, view.cpus, view.protocols, view.interval_s))


@given(snapshots(), snapshots(), st.none() | st.floats(0.0, 4000.0), st.none() | st.floats(0.1, 4000.0))
def test_no_rate_is_negative_or_endless(
    before: Snapshot, after: Snapshot, given_s: float | None, expected_s: float | None
) -> None:
    view = rates.view(before, after, given_s, expected_s)

    for place, number in all_rates(view):
        assert number >= 0, place
        assert math.isfinite(number), place
    assert (view.rates_reason is None) == (view.interval_s is not None)


@given(snapshots(), snapshots())
def test_the_counts_of_the_cpus_add_up(before: Snapshot, after: Snapshot) -> None:
    view = rates.view(before, after, 3.0)

    both = set(before.interrupts.cpus if before.interrupts else ()) & set(
        after.interrupts.cpus if after.interrupts else ()
    )
    for number, rate in view.irqs.items():
        assert rate.irq == number
        assert sum(rate.per_cpu.values()) == rate.count
        assert set(rate.per_cpu) <= both
        assert 0 not in rate.per_cpu.values()


@given(snapshots(), snapshots())
def test_every_interrupt_row_is_counted_gone_new_or_unknown(before: Snapshot, after: Snapshot) -> None:
    view = rates.view(before, after, 3.0)
    if view.rates_reason is not None or before.interrupts is None or after.interrupts is None:
        return
    unknown = {int(one.what[4:]) for one in view.missing if one.what.startswith("irq.")}
    now = {row.irq for row in after.interrupts.rows if row.irq is not None}
    then = {row.irq for row in before.interrupts.rows if row.irq is not None}

    assert now == set(view.irqs) | set(view.irqs_new) | (unknown & now)
    assert set(view.irqs_gone) <= then


@given(snapshots())
def test_a_sample_compared_with_itself_a_moment_later_has_only_zeros(sample: Snapshot) -> None:
    later = dataclasses.replace(sample, clock=None)

    view = rates.view(later, later, 2.0)

    assert all(rate.count == 0 for rate in view.irqs.values())
    assert not [one for one in view.missing if "fell: it was reset" in one.detail and "CPU" not in one.detail]


@given(U32, st.integers(0, 100_000_000))
def test_a_32_bit_counter_gives_its_growth_back(start: int, growth: int) -> None:
    assert counters.delta_32(start, (start + growth) % counters.WRAP_32, 2.0) == growth

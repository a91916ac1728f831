"""Whatever two samples of a host hold: no rate is negative or endless, nothing raises, every machine is there once."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests import make_hypervisor as make
from tests.rates.test_properties import numbers
from tuneagent import rates
from tuneagent.model.clock import Clock
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.hypervisor import DomainThread, Hypervisor, KvmCounters, KvmSource, QemuProcess, Tap, ThreadRole
from tuneagent.model.snapshot import Snapshot

S = 10**9
MAYBE = st.none() | st.integers(0, 2**64 - 1) | st.integers(0, 500)
READ_AT = st.none() | st.integers(0, 10**12)
UUIDS = st.sampled_from([make.UUID, "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "11111111-0000-0000-0000-000000000000"])
PIDS = st.integers(1, 4)
NAMES = st.sampled_from(["web1", "web1 vnet0", "db1", "pid 1"])
COUNTS = st.dictionaries(
    st.sampled_from(["exits", "io_exits", "halt_wait_ns"]), st.integers(0, 2**64) | st.integers(0, 9)
)


@st.composite
def interfaces(draw: st.DrawFn) -> DomainInterface:
    return make.domain_interface(
        position=draw(st.integers(0, 2)),
        target=draw(st.none() | st.sampled_from(["vnet0", "vnet1"])),
        mac=draw(st.none() | st.just(make.MAC)),
        type=draw(st.sampled_from(["bridge", "direct", "hostdev"])),
    )


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    return make.domain(
        uuid=draw(UUIDS),
        name=draw(NAMES),
        running=draw(st.booleans()),
        type=draw(st.sampled_from(["kvm", "qemu"])),
        interfaces=tuple(draw(st.lists(interfaces(), max_size=2))),
    )


def some(what: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(what, max_size=4).map(tuple)


PROCESSES = st.builds(QemuProcess, PIDS, st.none() | UUIDS, st.none() | NAMES)
COUNTERS = st.builds(
    KvmCounters,
    st.none() | PIDS,
    st.none() | UUIDS,
    COUNTS,
    st.dictionaries(st.integers(0, 2), COUNTS),
    READ_AT,
    st.booleans(),
)
THREADS = st.builds(
    DomainThread,
    PIDS,
    st.integers(1, 3),
    st.sampled_from(ThreadRole),
    st.none() | st.integers(0, 1),
    st.booleans(),
    st.none(),
    st.none() | st.integers(0, 1),
    MAYBE,
    MAYBE,
    READ_AT,
)
TAPS = st.builds(
    Tap,
    st.sampled_from(["vnet0", "vnet1"]),
    st.none() | st.integers(1, 2),
    st.none(),
    st.none(),
    st.none(),
    st.just(1000),
    *[MAYBE] * 6,
    read_at_ns=READ_AT,
)


@st.composite
def hypervisors(draw: st.DrawFn) -> Hypervisor:
    return make.hypervisor(
        domains=draw(st.none() | some(domains())),
        processes=draw(st.none() | some(PROCESSES)),
        kvm_source=draw(st.sampled_from(KvmSource)),
        kvm=draw(some(COUNTERS)),
        threads=draw(some(THREADS)),
        taps=draw(st.lists(TAPS, max_size=2, unique_by=lambda tap: tap.name).map(tuple)),
        virtio=draw(some(st.builds(make.virtio_status, uuid=UUIDS))),
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Snapshot, Snapshot]:
    """Two samples of the same machines, threads and taps, whatever their counters say."""
    first = draw(hypervisors())
    counts = st.fixed_dictionaries({name: st.integers(0, 500) for name in ("exits", "io_exits")})
    vcpus = st.dictionaries(st.integers(0, 1), counts, min_size=2)
    second = replace(
        first,
        kvm=tuple(replace(one, totals=draw(counts), vcpus=draw(vcpus)) for one in first.kvm),
        threads=tuple(replace(one, run_ns=draw(MAYBE), wait_ns=draw(MAYBE)) for one in first.threads),
        taps=tuple(replace(one, tx_packets=draw(MAYBE), rx_dropped=draw(MAYBE)) for one in first.taps),
    )
    third = replace(first, kvm=tuple(replace(one, totals=draw(counts), vcpus=draw(vcpus)) for one in first.kvm))
    return make.host(clock=Clock(S, S, S), hypervisor=second), make.host(clock=Clock(3 * S, 3 * S, S), hypervisor=third)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    clock = draw(st.none() | st.builds(lambda at: Clock(at, at, at), st.sampled_from([0, 2 * S, 5 * S])))
    return make.host(clock=clock, hypervisor=draw(st.none() | hypervisors()))


@given(st.tuples(snapshots(), snapshots()) | pairs())
def test_no_rate_is_negative_or_endless(samples: tuple[Snapshot, Snapshot]) -> None:
    before, after = samples
    view = rates.view(before, after, 3.0).hypervisor

    assert (view is None) == (after.hypervisor is None)
    for domain in view.domains if view else ():
        vcpus = {vcpu: dict(told) for vcpu, told in domain.kvm.vcpus.items()} if domain.kvm else {}
        for place, number in numbers((domain.kvm, vcpus, domain.threads, domain.taps)):
            assert number >= 0, place
            assert math.isfinite(number), place
        exits = domain.kvm.exits_per_sec if domain.kvm else None
        assert (exits is None) == (domain.kvm_reason is not None)
        for thread in domain.threads:
            assert (thread.cpu_percent or 0) <= 100
            assert (thread.wait_percent or 0) <= 100


@given(snapshots())
def test_every_machine_tap_and_thread_is_there_once(sample: Snapshot) -> None:
    view = rates.alone(sample).hypervisor
    if view is None or sample.hypervisor is None:
        return
    taps = [rate.tap for domain in view.domains for rate in domain.taps] + [rate.tap for rate in view.stray_taps]
    threads = [rate.thread for domain in view.domains for rate in domain.threads]
    pids = [domain.pid for domain in view.domains if domain.pid is not None]

    assert Counter(taps) == Counter(sample.hypervisor.taps)
    assert Counter(map(repr, threads)) == Counter(map(repr, sample.hypervisor.threads))
    assert len(set(pids)) == len(pids)
    assert {one.pid for one in sample.hypervisor.processes or ()} <= set(pids)
    assert len({domain.key for domain in view.domains}) == len(view.domains)
    assert len({domain.subject for domain in view.domains}) == len(view.domains)


@given(hypervisors())
def test_a_host_that_stood_still_has_only_zeros_and_nobody_came(hypervisor: Hypervisor) -> None:
    before, after = (make.host(clock=Clock(at, at, at), hypervisor=hypervisor) for at in (S, 3 * S))

    view = rates.view(before, after).hypervisor

    assert view is not None
    assert (view.gone, view.new) == ((), ())
    for domain in view.domains:
        assert {rate for _, rate in numbers(domain.kvm.per_sec if domain.kvm else {})} <= {0.0}

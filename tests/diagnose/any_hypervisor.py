"""Hypervisors of every kind, likely or not: what rules about virtual machines must bear without raising."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests import make_hypervisor as make
from tests.diagnose.any_view import CPUS, RATE, TEXT
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import DomainView, HypervisorView, KvmRate, TapRate, ThreadRate
from tuneagent.model.hypervisor import KvmSource, ThreadRole
from tuneagent.model.view import View

NAME = st.text(min_size=1, max_size=80) | st.sampled_from(["web1", "db\x1b[2J"])
COUNT = st.none() | st.integers(0, 2**20)
TRUTH = st.sampled_from([True, False, None])
KINDS = st.sampled_from(["exits", "halt_exits", "io_exits", "exit_userspace", "exit_\n", "halt_poll_fail_ns"])


@cache
def _interface() -> SearchStrategy[DomainInterface]:
    return st.builds(
        make.domain_interface,
        position=st.integers(0, 3),
        type=st.sampled_from(["bridge", "network", "direct", "vhostuser", "vdpa", "hostdev", "user"]),
        model=st.sampled_from(["virtio", "virtio-transitional", "e1000e", None]),
        mac=st.sampled_from([make.MAC, "52:54:00:00:00:02", None]),
        target=st.none() | TEXT,
        driver_name=st.sampled_from([None, "vhost", "qemu"]),
        queues=COUNT,
        event_idx=TRUTH,
    )


@cache
def _definition() -> SearchStrategy[Domain]:
    fields: dict[str, SearchStrategy[Any]] = {
        "running": st.booleans(),
        "type": st.sampled_from(["kvm", "qemu", ""]),
        "vcpus": COUNT,
        "vcpus_max": COUNT,
        "vcpu_cpus": st.none() | CPUS,
        "vcpu_pins": st.dictionaries(st.integers(0, 3), CPUS, max_size=3),
        "emulator_pin": st.none() | CPUS,
        "memory_nodes": st.none() | st.builds(CpuSet.of, st.frozensets(st.integers(0, 9), max_size=2)),
        "interfaces": st.lists(_interface(), max_size=3).map(tuple),
    }
    stored = st.none() | st.builds(make.domain, **fields)
    return st.builds(make.domain, pending=stored, **fields)


@cache
def _thread() -> SearchStrategy[ThreadRate]:
    thread = st.builds(
        make.domain_thread,
        st.sampled_from(ThreadRole),
        st.none() | st.integers(0, 3),
        affinity=st.none() | CPUS,
        cpu=st.sampled_from([None, 0, 1, 8191]),
        kernel_thread=st.booleans(),
    )
    return st.builds(ThreadRate, thread, RATE, RATE, st.booleans())


@cache
def _tap() -> SearchStrategy[TapRate]:
    tap = st.builds(make.tap, name=NAME, multi_queue=TRUTH, queues=COUNT, tx_packets=COUNT, tx_dropped=COUNT)
    return st.builds(TapRate, tap, st.none(), *[RATE] * 6)


@st.composite
def _domain(draw: st.DrawFn) -> DomainView:
    definition = draw(st.none() | _definition())
    taps = tuple(draw(st.lists(_tap(), max_size=2)))
    if definition is not None and definition.interfaces and taps:
        taps = (replace(taps[0], interface=definition.interfaces[0]), *taps[1:])
    rates = st.dictionaries(KINDS, st.floats(0, 1e12), max_size=4)
    vcpus = st.dictionaries(st.integers(0, 9), rates, max_size=3)
    kvm = draw(st.none() | st.builds(KvmRate, st.sampled_from(KvmSource), st.just(2.0), rates, vcpus, st.booleans()))
    guest = st.none() | st.builds(
        make.guest,
        view=st.none() | st.just(make.guest().view),
        nics=st.sampled_from([(), make.guest().nics]),
        rates=st.none(),
    )
    return DomainView(
        key=draw(NAME),
        name=draw(NAME),
        pid=draw(COUNT),
        definition=definition,
        kvm=kvm,
        kvm_reason=draw(st.none() | st.just("kernel lockdown")) if kvm is None else None,
        threads=tuple(draw(st.lists(_thread(), max_size=4))),
        taps=taps,
        virtio=tuple(draw(st.lists(st.builds(make.virtio_status, queues_active=COUNT), max_size=1))),
        guest=draw(guest),
    )


@st.composite
def hosts(draw: st.DrawFn) -> View:
    """Any hypervisor that the nouns allow, with one sample or two."""
    parameter = st.sampled_from(["0", "200000", "-1", "Y", "9" * 30])
    names = st.sampled_from(["kvm.halt_poll_ns", "kvm.halt_poll_ns_grow", "vhost_net"])
    host = make.host(hypervisor=draw(st.none() | _host(st.dictionaries(names, parameter))))
    domains = tuple(draw(st.lists(_domain(), max_size=4)))
    view = make.host_view(
        after=host, hypervisor=HypervisorView(domains, (), (), tuple(draw(st.lists(_tap(), max_size=2))))
    )
    return (
        view if draw(st.booleans()) else replace(view, before=None, interval_s=None, rates_reason="one sample", cpus={})
    )


def _host(parameters: SearchStrategy[dict[str, str]]) -> SearchStrategy[Any]:
    return st.builds(make.hypervisor, parameters=parameters)

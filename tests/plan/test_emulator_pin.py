from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from tests import make
from tests import make_hypervisor as host
from tests.plan import build, hypervisors
from tests.plan.hypervisors import WEB1, interface, threads, web1
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain_view import DomainView
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.plan import Plan, TunableKind
from tuneagent.model.topology import CpuTopology

FIRST, SECOND = CpuSet.of([0, 1, 2, 3]), CpuSet.of([4, 5, 6, 7])
TWO_NODES = make.topology(8, nodes={0: FIRST, 1: SECOND})


def cpus(text: str) -> CpuSet:
    return CpuSet.of(int(cpu) for cpu in text.split(","))


def on(domain: DomainView, topology: CpuTopology | None = None, *, rule: str = "unpinned") -> Plan:
    after = host.host()
    after = replace(after, cpus=topology or after.cpus)
    return hypervisors.of(
        host.host_view(domain, after=after), build.finding(rule, WEB1), policies=(hypervisors.EMULATOR,)
    )


def test_off_the_cpus_of_pinned_vcpus() -> None:
    change = hypervisors.change(on(web1(emulator_pin=None)))
    assert change.kind is TunableKind.EMULATOR_PIN
    assert shlex.split(change.do) == ["virsh", "emulatorpin", host.UUID, "0-1", "--live", "--config"]
    assert (change.target.domain_uuid, change.target.thread_role) == (host.UUID, "emulator")


def test_another_connection_is_in_the_target() -> None:
    change = hypervisors.change(on(web1(emulator_pin=None, uri="qemu:///session")))
    assert change.target.uri == "qemu:///session"


def test_back_to_where_it_was() -> None:
    pinned = hypervisors.change(on(web1(emulator_pin=cpus("1,2"))))
    assert (pinned.old, shlex.split(pinned.undo or "")[3]) == ("1-2", "1-2")
    free = web1(emulator_pin=None, threads=())
    answer = on(free)
    assert shlex.split(hypervisors.change(answer).undo or "")[3] == "0-3"
    assert "virsh edit" in "\n".join(hypervisors.only(answer).notes)
    seen = tuple(
        replace(one, thread=replace(one.thread, affinity=cpus("1,3")))
        if one.thread.role is ThreadRole.EMULATOR
        else one
        for one in host.thread_rates()
    )
    assert hypervisors.change(on(web1(emulator_pin=None, threads=seen))).old == "1,3"


def test_well_pinned_is_left() -> None:
    assert "already so" in hypervisors.reason(on(web1(emulator_pin=cpus("0,1"))))


def test_isolated_cpus_are_never_given_and_may_have_been_taken() -> None:
    isolated = make.topology(8, isolated=cpus("1,4,5,6,7"), nohz_full=cpus("6,7"))
    assert hypervisors.change(on(web1(emulator_pin=None), isolated)).new == "0"
    assert "already so" in hypervisors.reason(on(web1(emulator_pin=cpus("5"), threads=()), isolated))


def test_near_the_memory() -> None:
    far = web1(emulator_pin=cpus("4"), memory_nodes=CpuSet.of([0]))
    assert hypervisors.change(on(far, TWO_NODES)).new == "0-1"
    pins = {0: cpus("4"), 1: cpus("5")}
    by_vcpus = web1(emulator_pin=None, vcpu_pins=pins, threads=threads(None)[:1])
    assert hypervisors.change(on(by_vcpus, TWO_NODES)).new == "6-7"


def test_another_node_is_better_than_a_vcpus_cpu() -> None:
    pins = {cpu: CpuSet.of([cpu]) for cpu in range(4)}
    answer = on(web1(emulator_pin=None, vcpus=4, vcpu_pins=pins, memory_nodes=CpuSet.of([0])), TWO_NODES)
    assert hypervisors.change(answer).new == "4-7"
    assert "farther" in "\n".join(hypervisors.only(answer).notes)


def test_never_an_empty_set() -> None:
    pins = {cpu: CpuSet.of([cpu]) for cpu in range(4)}
    assert "pinned vCPU" in hypervisors.reason(on(web1(emulator_pin=None, vcpus=4, vcpu_pins=pins)))
    every = make.topology(4, isolated=CpuSet.of(range(4)))
    assert "isolated" in hypervisors.reason(on(web1(emulator_pin=None), every))


def test_without_pins_there_is_nothing_to_keep_off() -> None:
    floating = web1(emulator_pin=None, vcpu_pins={}, threads=())
    assert "no vCPU here is pinned" in hypervisors.reason(on(floating))


def test_a_pin_to_a_whole_node_takes_nothing_away() -> None:
    domain = web1(emulator_pin=cpus("5"), vcpu_pins={}, vcpu_cpus=FIRST, threads=())
    assert hypervisors.change(on(domain, TWO_NODES)).new == "0-3"


def test_busy_cpus_of_unpinned_vcpus_are_avoided_where_others_are_free() -> None:
    vcpu = host.domain_thread(ThreadRole.VCPU, 0, affinity=FIRST, cpu=2)
    domain = web1(
        emulator_pin=cpus("5"), vcpu_pins={}, vcpu_cpus=FIRST, threads=(host.thread_rate(vcpu, cpu_percent=90.0),)
    )
    assert hypervisors.change(on(domain, TWO_NODES)).new == "0-1,3"


def test_kernel_threads_are_not_its_business() -> None:
    domain = web1(interface(), emulator_pin=None, threads=threads(cpus("2"), kernel_thread=True))
    assert "kernel threads" in hypervisors.reason(on(domain, rule="vhost-worker-placement"))
    assert hypervisors.change(on(domain)).new == "0-1"


def test_another_virtual_machines_pins_count_too() -> None:
    other = host.domain_view(
        key="2" * 8 + "-0000-0000-0000-000000000000",
        name="db1",
        definition=host.domain(name="db1", vcpu_pins={0: cpus("1")}, vcpus=1, interfaces=()),
        threads=(),
        taps=(),
    )
    view = host.host_view(web1(emulator_pin=None), other)
    answer = hypervisors.of(view, build.finding("unpinned", WEB1))
    assert hypervisors.change(answer).new == "0"


@pytest.mark.parametrize("definition", [None])
def test_a_qemu_without_a_definition(definition: None) -> None:
    domain = host.domain_view(key="pid 9", definition=definition)
    assert "libvirt tells of no such domain" in hypervisors.reason(on(domain))

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make_hypervisor as make
from tuneagent import rates
from tuneagent.model.clock import Clock
from tuneagent.model.domain import Domain
from tuneagent.model.domain_view import DomainView, HypervisorView
from tuneagent.model.hypervisor import Hypervisor, KvmCounters, KvmSource, QemuProcess, ThreadRole
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View

S = 10**9
OTHER = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"


def looked(at_s: float, hypervisor: Hypervisor | None, **changes: Any) -> Snapshot:
    at = round(at_s * S)
    return make.host(clock=Clock(at, at, 10**18 + at), hypervisor=hypervisor, **changes)


def compared(before: Hypervisor | None, after: Hypervisor | None, seconds: float = 2.0) -> View:
    return rates.view(looked(5.0, before), looked(5.0 + seconds, after))


def machines(before: Hypervisor | None, after: Hypervisor | None, seconds: float = 2.0) -> HypervisorView:
    view = compared(before, after, seconds).hypervisor
    assert view is not None
    return view


def only(before: Hypervisor | None, after: Hypervisor | None, seconds: float = 2.0) -> DomainView:
    (domain,) = machines(before, after, seconds).domains
    return domain


def totals(exits: int, **others: int) -> KvmCounters:
    return make.kvm_counters(totals={"exits": exits, **others}, vcpus={})


def by_vcpu(**vcpus: dict[str, int]) -> KvmCounters:
    numbered = {int(name[1:]): counters for name, counters in vcpus.items()}
    names = {name for counters in numbered.values() for name in counters}
    sums = {name: sum(counters.get(name, 0) for counters in numbered.values()) for name in sorted(names)}
    return make.kvm_counters(totals=sums, vcpus=numbered)


def with_kvm(*counters: KvmCounters, source: KvmSource = KvmSource.DEBUGFS, **changes: Any) -> Hypervisor:
    return make.hypervisor(kvm=counters, kvm_source=source, **changes)


# Exits


def test_a_machine_without_virtual_machines_has_no_view_of_them() -> None:
    assert compared(None, None).hypervisor is None
    assert compared(make.hypervisor(), None).hypervisor is None


def test_counters_are_divided_by_the_time_between_their_own_two_reads() -> None:
    first = replace(totals(1000, io_exits=70), read_at_ns=6 * S)
    last = replace(totals(6000, io_exits=95), read_at_ns=6 * S + 5 * S // 2)

    rate = only(with_kvm(first), with_kvm(last)).kvm

    assert rate is not None
    assert (rate.source, rate.seconds) == (KvmSource.DEBUGFS, 2.5)
    assert (rate.per_sec, rate.vcpus) == ({"exits": 2000.0, "io_exits": 10.0}, {})


def test_each_vcpu_has_its_own_rates() -> None:
    before = by_vcpu(v0={"exits": 10, "halt_exits": 4}, v3={"exits": 500, "halt_exits": 60})
    after = by_vcpu(v0={"exits": 30, "halt_exits": 5}, v3={"exits": 504, "halt_exits": 72})

    domain = only(with_kvm(before), with_kvm(after))

    assert domain.kvm is not None
    assert domain.kvm_reason is None
    assert domain.kvm.per_sec == {"exits": 12.0, "halt_exits": 6.5}
    assert domain.kvm.vcpus == {0: {"exits": 10.0, "halt_exits": 0.5}, 3: {"exits": 2.0, "halt_exits": 6.0}}


def test_a_counter_that_fell_gives_no_number_and_is_missed_once() -> None:
    view = compared(with_kvm(totals(9000, io_exits=80, mmio_exits=7)), with_kvm(totals(40, io_exits=3, mmio_exits=8)))

    assert view.hypervisor is not None
    (domain,) = view.hypervisor.domains
    assert domain.kvm is None
    assert domain.kvm_reason is not None
    assert view.missing == (Missing("domain.web1.kvm", "debugfs", Reason.UNKNOWABLE, domain.kvm_reason),)


def test_a_vcpu_whose_counters_fell_spoils_the_totals_and_not_the_others() -> None:
    before = by_vcpu(v0={"exits": 10}, v1={"exits": 700})
    after = by_vcpu(v0={"exits": 2000}, v1={"exits": 20})

    domain = only(with_kvm(before), with_kvm(after))

    assert domain.kvm is not None
    assert (domain.kvm.per_sec, domain.kvm.vcpus) == ({}, {0: {"exits": 995.0}})
    assert "fell" in str(domain.kvm_reason)


@pytest.mark.parametrize("came", [True, False])
def test_a_vcpu_that_came_or_went_leaves_the_others_and_no_total(*, came: bool) -> None:
    one = {"exits": 10}
    few, more = by_vcpu(v0={"exits": 50}), by_vcpu(v0={"exits": 50}, v2={"exits": 9000})
    before, after = (by_vcpu(v0=one), more) if came else (by_vcpu(v0=one, v2={"exits": 8}), few)

    domain = only(with_kvm(before), with_kvm(after))

    assert domain.kvm is not None
    assert (domain.kvm.per_sec, domain.kvm.vcpus) == ({}, {0: {"exits": 20.0}})
    assert domain.kvm_reason == "vCPU 2 came or went within the interval: totals cannot be compared"


def test_a_name_that_one_vcpu_has_in_one_sample_only_has_no_total() -> None:
    before = by_vcpu(v0={"exits": 10, "hypercalls": 1}, v1={"exits": 20})
    after = by_vcpu(v0={"exits": 12, "hypercalls": 5}, v1={"exits": 24, "hypercalls": 900})

    rate = only(with_kvm(before), with_kvm(after)).kvm

    assert rate is not None
    assert rate.per_sec == {"exits": 3.0}
    assert rate.vcpus == {0: {"exits": 1.0, "hypercalls": 2.0}, 1: {"exits": 2.0}}


def test_a_process_number_that_another_machine_has_now_is_no_same_machine() -> None:
    def undefined(uuid: str, name: str, exits: int) -> Hypervisor:
        counters = replace(totals(exits), uuid=uuid)
        return with_kvm(counters, domains=None, processes=(QemuProcess(make.PID, uuid, name),), threads=())

    view = machines(undefined(make.UUID, "web1", 5), undefined(OTHER, "web2", 90_000))

    assert (view.gone, view.new) == (("web1",), ("web2",))
    assert view.domains[0].kvm is None


def test_the_number_of_vcpus_comes_from_the_definition_then_kvm_then_the_threads() -> None:
    kvm = replace(totals(9), directories=5)
    nobody = make.hypervisor(domains=None, kvm=(kvm,), kvm_source=KvmSource.DEBUGFS)
    assert only(make.hypervisor(), make.hypervisor(kvm=(kvm,))).vcpus == 2
    assert only(nobody, nobody).vcpus == 5
    blind = replace(nobody, kvm=(totals(9),))
    assert only(blind, blind).vcpus == 2
    partly = replace(blind, threads_left_out=1)
    assert only(partly, partly).vcpus is None


def test_what_was_counted_so_far_is_there_without_rates() -> None:
    (domain,) = machines(None, with_kvm(totals(4210))).domains
    assert domain.kvm is None
    assert domain.counters is not None
    assert domain.counters.totals["exits"] == 4210


def test_counters_of_two_sources_are_not_compared() -> None:
    before, after = with_kvm(totals(10), source=KvmSource.STATS_FD), with_kvm(totals(50), source=KvmSource.DEBUGFS)

    domain = only(before, after)

    assert domain.kvm is None
    assert domain.kvm_reason == "its counters came from kvm-stats-fd at the first sample and debugfs now"


def test_a_sum_of_kinds_is_not_compared_with_a_count() -> None:
    before, after = totals(10, exit_null=3), replace(totals(50, exit_null=9), exits_are_a_sum=True)

    domain = only(with_kvm(before), with_kvm(after))

    assert domain.kvm is not None
    assert domain.kvm.per_sec == {"exit_null": 3.0}
    assert "sum" in str(domain.kvm_reason)


def test_a_sum_of_kinds_stays_marked() -> None:
    before, after = (replace(totals(count), exits_are_a_sum=True) for count in (10, 50))

    rate = only(with_kvm(before), with_kvm(after)).kvm

    assert rate is not None
    assert (rate.exits_are_a_sum, rate.exits_per_sec) == (True, 20.0)


def test_counters_without_exits_say_so() -> None:
    before, after = (make.kvm_counters(totals={"io_exits": count}, vcpus={}) for count in (10, 16))

    domain = only(with_kvm(before), with_kvm(after))

    assert domain.kvm is not None
    assert domain.kvm.per_sec == {"io_exits": 3.0}
    assert domain.kvm_reason == "KVM tells no count of exits here"


def test_counters_told_by_domain_are_found_by_uuid() -> None:
    before, after = (replace(totals(count), pid=None) for count in (100, 400))

    domain = only(with_kvm(before, source=KvmSource.DOMSTATS), with_kvm(after, source=KvmSource.DOMSTATS))

    assert domain.kvm is not None
    assert (domain.pid, domain.kvm.exits_per_sec) == (make.PID, 150.0)


def test_counters_told_by_domain_need_no_process() -> None:
    before, after = (
        with_kvm(replace(totals(count), pid=None), source=KvmSource.DOMSTATS, processes=None, threads=())
        for count in (100, 400)
    )

    domain = only(before, after)

    assert domain.kvm is not None
    assert (domain.pid, domain.kvm.exits_per_sec) == (None, 150.0)


def test_without_a_source_the_reason_is_the_observers() -> None:
    missing = (Missing("hypervisor.kvm", "/sys/kernel/debug/kvm", Reason.PERMISSION, "Operation not permitted"),)
    hypervisor = with_kvm(source=KvmSource.NONE)

    view = rates.view(looked(5.0, hypervisor), looked(7.0, hypervisor, missing=missing)).hypervisor

    assert view is not None
    assert view.domains[0].kvm_reason == (
        "KVM's counters were not to be seen: /sys/kernel/debug/kvm: Operation not permitted"
    )


def test_one_machine_that_the_source_does_not_tell_of_says_so() -> None:
    assert only(with_kvm(), with_kvm()).kvm_reason == "debugfs tells nothing of it"


def test_software_emulation_has_no_exits() -> None:
    hypervisor = with_kvm(domains=(make.domain(type="qemu"),))

    assert only(hypervisor, hypervisor).kvm_reason == "it is emulated in software: KVM has no part in it"


# Who is who


def test_a_domain_is_put_together_from_all_that_tells_of_it() -> None:
    hypervisor = make.hypervisor(virtio=(make.virtio_status(), make.virtio_status(uuid=OTHER, alias="net9")))

    domain = only(hypervisor, hypervisor)

    assert (domain.key, domain.name, domain.pid) == (make.UUID, "web1", make.PID)
    assert domain.definition == make.domain()
    assert [one.thread for one in domain.threads] == list(make.domain_threads())
    assert [one.tap for one in domain.taps] == [make.tap()]
    assert domain.taps[0].interface == make.domain_interface()
    assert domain.virtio == (make.virtio_status(),)


@pytest.mark.parametrize(("name", "called"), [("build", "build"), (None, "pid 4242")])
def test_a_qemu_that_no_libvirt_told_of_goes_by_its_process(name: str | None, called: str) -> None:
    processes = (QemuProcess(make.PID, OTHER, name),)
    before, after = (with_kvm(totals(count), domains=None, processes=processes) for count in (10, 50))

    domain = only(before, after)

    assert (domain.key, domain.name, domain.pid, domain.definition) == ("pid 4242", called, 4242, None)
    assert domain.kvm is not None
    assert domain.kvm.exits_per_sec == 20.0


def test_counters_of_a_process_that_is_no_known_qemu_are_a_machine_too() -> None:
    def sample(first: int, second: int) -> Hypervisor:
        counters = (
            KvmCounters(4242, None, {"exits": first}, {}, None),
            KvmCounters(5151, None, {"exits": second}, {}, None),
        )
        return with_kvm(*counters, domains=None, processes=(), threads=(), taps=())

    view = machines(sample(1000, 70), sample(161_000, 20_070))

    found = {one.key: one.kvm.exits_per_sec for one in view.domains if one.kvm is not None}
    assert found == {"pid 4242": 80_000.0, "pid 5151": 10_000.0}


def test_what_a_kernel_counts_of_all_together_is_nobodys() -> None:
    before, after = (with_kvm(replace(totals(count), pid=None, uuid=None)) for count in (10, 50))

    view = machines(before, after)

    every, web1 = view.domains
    assert every.kvm is not None
    assert (every.subject, every.kvm.exits_per_sec) == ("domain all virtual machines", 20.0)
    assert web1.kvm_reason == "debugfs tells of all virtual machines together only"
    assert machines(with_kvm(), after).new == ()


def test_a_domain_that_does_not_run_has_its_definition_only() -> None:
    stopped = make.domain(running=False, state="shut off")
    hypervisor = make.hypervisor(domains=(stopped,), processes=(), kvm=(), threads=(), taps=())

    view = machines(hypervisor, hypervisor)

    (domain,) = view.domains
    assert (domain.definition, domain.pid, domain.kvm_reason) == (stopped, None, "it does not run")
    assert (view.gone, view.new) == ((), ())


def test_domains_come_in_the_order_of_their_names() -> None:
    domains = (make.domain(name="zeta"), make.domain(name="alpha", uuid=OTHER))

    assert [one.name for one in machines(None, make.hypervisor(domains=domains)).domains] == ["alpha", "zeta"]


def test_two_domains_of_one_name_have_subjects_of_their_own() -> None:
    domains = (make.domain(), make.domain(uuid=OTHER, uri="qemu:///session", interfaces=()))

    view = machines(None, make.hypervisor(domains=domains))

    assert [one.name for one in view.domains] == ["web1", "web1"]
    assert {one.subject for one in view.domains} == {"domain web1 (11111111)", "domain web1 (aaaaaaaa)"}
    assert view.of_subject("domain web1 (11111111) vnet0") == (view.find(make.UUID), make.domain_interface())


def test_keys_that_begin_alike_are_told_apart_in_full() -> None:
    twin = make.UUID[:-1] + "6"

    view = machines(None, make.hypervisor(domains=(make.domain(), make.domain(uuid=twin))))

    assert [one.subject for one in view.domains] == [f"domain web1 ({make.UUID})", f"domain web1 ({twin})"]


def test_a_name_that_reads_like_another_domains_interface_is_told_apart() -> None:
    domains = (make.domain(), make.domain(name="web1 vnet0", uuid=OTHER, interfaces=()))

    view = machines(None, make.hypervisor(domains=domains))

    assert {one.subject for one in view.domains} == {"domain web1 (11111111)", "domain web1 vnet0 (aaaaaaaa)"}


def test_a_domain_that_two_connections_tell_of_is_one() -> None:
    domains = (make.domain(uri="qemu+unix:///system", running=False), make.domain())

    assert only(None, make.hypervisor(domains=domains)).definition == make.domain()


def test_two_processes_of_one_uuid_are_told_apart_by_name() -> None:
    processes = (QemuProcess(77, make.UUID, "copy"), QemuProcess(make.PID, make.UUID, "web1"))

    view = machines(None, make.hypervisor(processes=processes))

    assert {one.key: one.pid for one in view.domains} == {make.UUID: make.PID, "pid 77": 77}


# Coming and going


def other_domain(**changes: Any) -> Domain:
    return make.domain(**{"uuid": OTHER, "name": "db1", "interfaces": (), **changes})


def both_run() -> Hypervisor:
    process = QemuProcess(88, OTHER, "db1")
    return make.hypervisor(domains=(make.domain(), other_domain()), processes=(*_processes(), process))


def _processes() -> tuple[QemuProcess, ...]:
    return make.hypervisor().processes or ()


@pytest.mark.parametrize("later", [(), (other_domain(running=False, state="shut off"),)])
def test_a_domain_that_stopped_is_gone_and_one_that_started_is_new(later: tuple[Domain, ...]) -> None:
    without = make.hypervisor(domains=(make.domain(), *later))

    stopped, started = machines(both_run(), without), machines(without, both_run())

    assert (stopped.gone, stopped.new) == (("db1",), ())
    assert (started.gone, started.new) == ((), ("db1",))
    came = started.find("db1")
    assert came is not None
    assert came.kvm is None


def test_a_domain_that_came_with_its_counters_says_so() -> None:
    domain = only(make.hypervisor(domains=(), processes=(), kvm=(), threads=()), make.hypervisor())

    assert (domain.kvm, domain.kvm_reason) == (None, "it came within the interval")


def test_a_domain_that_was_started_anew_has_no_rates_and_is_neither_gone_nor_new() -> None:
    after = make.hypervisor(
        processes=(QemuProcess(9999, make.UUID, "web1"),),
        kvm=(make.kvm_counters(pid=9999, totals={"exits": 10**9}, vcpus={}),),
        threads=tuple(replace(one, pid=9999) for one in make.domain_threads()),
    )

    view = machines(make.hypervisor(), after)

    (domain,) = view.domains
    assert (domain.pid, domain.kvm, domain.kvm_reason) == (9999, None, "it was started anew between the samples")
    assert {one.cpu_percent for one in domain.threads} == {None}
    assert (view.gone, view.new) == ((), ())


def test_a_process_number_given_to_another_domain_is_another_domain() -> None:
    domains = (other_domain(),)
    counters = make.kvm_counters(uuid=OTHER, totals={"exits": 10**9}, vcpus={})
    after = make.hypervisor(domains=domains, processes=(QemuProcess(make.PID, OTHER, "db1"),), kvm=(counters,))

    view = machines(make.hypervisor(), after)

    assert (view.gone, view.new, view.domains[0].kvm_reason) == (("web1",), ("db1",), "it came within the interval")


def test_a_libvirt_that_fell_silent_makes_nothing_new() -> None:
    view = machines(with_kvm(totals(10)), with_kvm(totals(50), domains=None))

    (domain,) = view.domains
    assert (domain.key, view.gone, view.new) == ("pid 4242", (), ())
    assert domain.kvm is not None
    assert domain.kvm.exits_per_sec == 20.0


def test_what_a_sample_did_not_look_at_is_neither_gone_nor_new() -> None:
    blind = make.hypervisor(domains=None, processes=None, kvm=(), kvm_source=KvmSource.NONE, threads=())

    assert (machines(blind, make.hypervisor()).new, machines(make.hypervisor(), blind).gone) == ((), ())


# Threads


def test_a_thread_has_its_share_of_a_cpu_and_what_it_waited() -> None:
    old = make.domain_thread(run_ns=7 * S, wait_ns=3 * S, read_at_ns=6 * S)
    new = replace(old, run_ns=8 * S, wait_ns=3 * S + S // 8, read_at_ns=6 * S + 5 * S // 2)

    (rate,) = only(make.hypervisor(threads=(old,)), make.hypervisor(threads=(new,))).threads

    assert (rate.thread, rate.cpu_percent, rate.wait_percent, rate.moved) == (new, 40.0, 5.0, False)


@pytest.mark.parametrize("change", [{"cpu": 3}, {"affinity": make.domain_thread(ThreadRole.VCPU, 1).affinity}])
def test_a_thread_that_ran_or_may_run_elsewhere_moved(change: dict[str, Any]) -> None:
    old = make.domain_thread()

    (rate,) = only(make.hypervisor(threads=(old,)), make.hypervisor(threads=(replace(old, **change),))).threads

    assert rate.moved


@pytest.mark.parametrize(
    "change", [{"tid": 1}, {"role": ThreadRole.EMULATOR}, {"index": 5}, {"run_ns": None, "wait_ns": None}]
)
def test_another_or_an_unknown_thread_has_no_shares(change: dict[str, Any]) -> None:
    new = make.domain_thread()

    (rate,) = only(make.hypervisor(threads=(replace(new, **change),)), make.hypervisor(threads=(new,))).threads

    assert (rate.cpu_percent, rate.wait_percent, rate.moved) == (None, None, False)


@pytest.mark.parametrize(("run_ns", "wait_ns"), [(1, 9 * S), (9 * S, 1), (60 * S, 9 * S)])
def test_times_that_fell_or_leapt_are_another_threads(run_ns: int, wait_ns: int) -> None:
    old = make.domain_thread(run_ns=7 * S, wait_ns=3 * S)
    new = replace(old, run_ns=run_ns, wait_ns=wait_ns)

    view = compared(make.hypervisor(threads=(old,)), make.hypervisor(threads=(new,)))

    assert view.hypervisor is not None
    (rate,) = view.hypervisor.domains[0].threads
    assert (rate.cpu_percent, rate.wait_percent) == (None, None)
    assert [one.what for one in view.missing] == [f"thread.{make.VHOST_TID}"]


def test_a_wait_that_began_earlier_is_at_most_the_interval() -> None:
    old = make.domain_thread(run_ns=7 * S, wait_ns=3 * S)
    new = replace(old, run_ns=7 * S, wait_ns=8 * S)

    (rate,) = only(make.hypervisor(threads=(old,)), make.hypervisor(threads=(new,))).threads

    assert (rate.cpu_percent, rate.wait_percent) == (0.0, 100.0)


# Taps

GREW: dict[str, Any] = {
    "tx_packets": 900_010,
    "rx_packets": 500_024,
    "tx_bytes": 90_000_700,
    "rx_bytes": 40_000_900,
    "tx_dropped": 42,
    "rx_dropped": 8,
}
MIRRORED = (5.0, 12.0, 350.0, 450.0, 6.0, 3.0)


def tap_figures(domain: DomainView) -> tuple[float | None, ...]:
    (rate,) = domain.taps
    return (
        rate.to_guest_packets_per_sec,
        rate.from_guest_packets_per_sec,
        rate.to_guest_bytes_per_sec,
        rate.from_guest_bytes_per_sec,
        rate.to_guest_drops_per_sec,
        rate.from_guest_drops_per_sec,
    )


def test_what_the_host_transmits_the_guest_receives() -> None:
    domain = only(make.hypervisor(), make.hypervisor(taps=(make.tap(**GREW),)))

    assert tap_figures(domain) == MIRRORED


def test_a_macvtap_receives_what_the_guest_receives() -> None:
    domains = (make.domain(interfaces=(make.domain_interface(type="direct"),)),)

    domain = only(make.hypervisor(domains=domains), make.hypervisor(domains=domains, taps=(make.tap(**GREW),)))

    assert tap_figures(domain) == (12.0, 5.0, 450.0, 350.0, 3.0, 6.0)


def test_a_macvtap_of_nobody_is_known_by_having_no_flags() -> None:
    old = make.tap(name="uplink3", multi_queue=None)

    view = machines(make.hypervisor(taps=(old,)), make.hypervisor(taps=(replace(old, **GREW),)))

    assert [one.to_guest_packets_per_sec for one in view.stray_taps] == [12.0]


def test_a_tap_is_divided_by_its_own_interval() -> None:
    before = make.hypervisor(taps=(make.tap(read_at_ns=6 * S),))
    after = make.hypervisor(taps=(make.tap(**GREW, read_at_ns=7 * S),))

    assert tap_figures(only(before, after)) == tuple(2 * figure for figure in MIRRORED)


def test_a_counter_of_a_tap_that_fell_or_is_not_told_gives_none() -> None:
    after = make.tap(**{**GREW, "tx_dropped": 2, "rx_bytes": None})

    view = compared(make.hypervisor(), make.hypervisor(taps=(after,)))

    assert view.hypervisor is not None
    assert tap_figures(view.hypervisor.domains[0]) == (5.0, 12.0, 350.0, None, None, 3.0)
    assert [one.what for one in view.missing] == ["tap.vnet0.tx_dropped"]


def test_another_device_of_the_same_name_is_another_tap() -> None:
    view = compared(make.hypervisor(), make.hypervisor(taps=(make.tap(**GREW, ifindex=18),)))

    assert view.hypervisor is not None
    assert set(tap_figures(view.hypervisor.domains[0])) == {None}
    assert [one.what for one in view.missing] == ["tap.vnet0"]


def test_taps_of_no_known_domain_are_strays_with_rates() -> None:
    stray = make.tap(name="tap7", ifindex=33)

    view = machines(make.hypervisor(taps=(stray,)), make.hypervisor(taps=(replace(stray, **GREW),)))

    assert [(one.tap.name, one.interface, one.to_guest_packets_per_sec) for one in view.stray_taps] == [
        ("tap7", None, 5.0)
    ]
    assert view.domains[0].taps == ()


def test_a_tap_that_two_domains_claim_is_nobodys() -> None:
    domains = (make.domain(), make.domain(uuid=OTHER, name="db1"))

    view = machines(None, make.hypervisor(domains=domains))

    assert [one.tap.name for one in view.stray_taps] == ["vnet0"]


# One moment


def test_one_sample_gives_definitions_and_places_and_no_rates() -> None:
    view = rates.alone(looked(5.0, make.hypervisor()), "one sample only").hypervisor

    assert view is not None
    (domain,) = view.domains
    assert (domain.definition, domain.kvm, domain.kvm_reason) == (make.domain(), None, "one sample only")
    assert [one.thread for one in domain.threads] == list(make.domain_threads())
    assert set(tap_figures(domain)) == {None}
    assert {(one.cpu_percent, one.wait_percent, one.moved) for one in domain.threads} == {(None, None, False)}


def test_samples_without_an_interval_between_them_are_one_moment() -> None:
    view = rates.view(looked(7.0, make.hypervisor()), looked(7.0, make.hypervisor())).hypervisor

    assert view is not None
    assert view.domains[0].kvm_reason == "the second sample is not later than the first"


def test_a_first_sample_without_virtual_machines_is_one_moment() -> None:
    assert only(None, make.hypervisor()).kvm_reason == "the first sample has nothing of the hypervisor's side"

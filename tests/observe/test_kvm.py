from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observe.host import KVM, UUID, Counting, counters, gaps, look, qemu, seen
from tests.observe.looking import Refusing, put
from tuneagent.machine.source import Text
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.errors import SourceError
from tuneagent.model.hypervisor import KvmCounters, KvmSource
from tuneagent.model.missing import Reason
from tuneagent.observe import kvm


def statistics(root: Path, name: str, value: object) -> None:
    put(root, f"/captured/{name}.json", json.dumps(value))


def test_reads_the_totals_of_each_machine_and_passes_over_what_is_no_number(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    counters(tmp_path, "4242-14", exits=9, halt_exits=4, pf_fixed=3, halt_wait_hist="0 1 2", io_exits=-7)
    counters(tmp_path, "4242-14/vcpu0", **{"tsc-offset": -12345})
    counters(tmp_path, "5151-22", exits=5)
    found = seen(tmp_path)
    assert found.kvm_source is KvmSource.DEBUGFS
    assert found.kvm == (
        KvmCounters(4242, UUID, {"exits": 9, "halt_exits": 4}, {}, None, directories=1),
        KvmCounters(5151, None, {"exits": 5}, {}, None),
    )


def test_a_machine_made_by_another_thread_is_its_process(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    put(tmp_path, "/proc/4250/status", "Name:\tworker\nTgid:\t4242\nPid:\t4250\n")
    counters(tmp_path, "4250-14", exits=9)
    assert seen(tmp_path).kvm == (KvmCounters(4242, UUID, {"exits": 9}, {}, None),)


def test_two_machines_of_one_process_are_counted_together(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    counters(tmp_path, "4242-14", exits=9, halt_exits=4)
    counters(tmp_path, "4242-15", exits=30)
    for directory in ("4242-14/vcpu0", "4242-15/vcpu0", "4242-15/vcpu1"):
        counters(tmp_path, directory, guest_mode=1)
    (found,) = seen(tmp_path).kvm
    assert (found.totals, found.vcpu_count) == ({"exits": 39}, 3)


def test_the_directories_of_vcpus_are_counted_where_no_definition_tells_how_many(tmp_path: Path) -> None:
    counters(tmp_path, "4242-14", exits=9)
    for name in ("vcpu0", "vcpu12", "vcpu", "vcpux", "vcpu3-old"):
        counters(tmp_path, f"4242-14/{name}", guest_mode=1)
    assert seen(tmp_path).kvm[0].vcpu_count == 2


def test_they_are_not_listed_where_a_definition_tells(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    counters(tmp_path, "4242-14", exits=9)
    counters(tmp_path, "4242-14/vcpu0", guest_mode=1)
    told = {"state": "running", "xml": f"<domain type='kvm'><name>a</name><uuid>{UUID}</uuid><vcpu>3</vcpu></domain>"}
    statistics(tmp_path, "domains", {"connections": [{"uri": "qemu:///system", "domains": [told]}]})
    assert seen(tmp_path).kvm[0].vcpu_count is None


def test_what_is_no_number_of_64_bits_is_no_counter(tmp_path: Path) -> None:
    counters(tmp_path, "4242-14", exits=2**64 - 1, io_exits=2**64, halt_exits="", mmio_exits="0x1f")
    assert seen(tmp_path).kvm[0].totals == {"exits": 2**64 - 1}


def test_powerpc_has_another_name_for_exits(tmp_path: Path) -> None:
    counters(tmp_path, "4242-14", sum_exits=70, mmio_exits=4)
    found = seen(tmp_path).kvm[0]
    assert (found.totals, found.exits_are_a_sum) == ({"exits": 70, "mmio_exits": 4}, False)


def test_loongarch_has_kinds_of_exits_and_no_count_of_all(tmp_path: Path) -> None:
    counters(tmp_path, "4242-14", int_exits=3, idle_exits=5, cpucfg_exits=1, signal_exits=2)
    assert seen(tmp_path).kvm[0].totals == {"int_exits": 3, "idle_exits": 5, "cpucfg_exits": 1, "signal_exits": 2}


def test_without_a_count_of_exits_the_family_is_summed(tmp_path: Path) -> None:
    counters(tmp_path, "4242-14", exit_userspace=120, exit_instruction=4000, exit_wait_state=90, halt_wakeup=7)
    found = seen(tmp_path).kvm[0]
    assert (found.totals["exits"], found.exits_are_a_sum) == (4210, True)
    assert found.totals["exit_instruction"] == 4000


def test_without_any_exits_there_is_no_number_of_them(tmp_path: Path) -> None:
    counters(tmp_path, "4242-14", wfi_exit_stat=5, halt_wakeup=7)
    found = seen(tmp_path).kvm[0]
    assert (found.totals, found.exits_are_a_sum) == ({"wfi_exit_stat": 5, "halt_wakeup": 7}, False)


def test_totals_without_a_directory_are_those_of_all_machines(tmp_path: Path) -> None:
    counters(tmp_path, ".", exits=777, wfi_exit_stat=5)
    assert seen(tmp_path).kvm == (KvmCounters(None, None, {"exits": 777, "wfi_exit_stat": 5}, {}, None),)


def test_totals_without_a_directory_are_those_of_the_only_process(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    counters(tmp_path, ".", exit_null=3, exit_validity=4)
    assert seen(tmp_path).kvm[0].pid == 4242
    assert seen(tmp_path).kvm[0].totals["exits"] == 7


def test_descriptors_come_first_and_debugfs_is_then_not_read(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    counters(tmp_path, "4242-14", exits=9)
    statistics(tmp_path, "kvm-statistics", {"4242": {"vcpus": {"0": {"exits": 5}, "1": {"exits": 6}}}})
    source = Counting(tmp_path)
    found = seen(source)
    assert found.kvm_source is KvmSource.STATS_FD
    assert found.kvm == (KvmCounters(4242, UUID, {"exits": 11}, {0: {"exits": 5}, 1: {"exits": 6}}, None),)
    assert f"{KVM}/4242-14/exits" not in source.asked


def test_libvirt_is_asked_where_debugfs_tells_nothing(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    statistics(tmp_path, "domain-statistics", {UUID: {"vcpu.0.exits.sum": 8}})
    found = look(tmp_path)
    assert found.hypervisor is not None
    assert found.hypervisor.kvm_source is KvmSource.DOMSTATS
    assert found.hypervisor.kvm[0].uuid == UUID
    assert not gaps(found, "hypervisor.kvm")


class Locked(Sysroot):
    """debugfs under kernel lockdown: it lists, and nothing in it opens."""

    def read(self, path: str) -> Text:
        if path.startswith(KVM):
            raise SourceError(path, Reason.PERMISSION, "Operation not permitted: kernel lockdown keeps debugfs closed")
        return super().read(path)


def test_lockdown_is_one_gap_and_the_rest_goes_on(tmp_path: Path) -> None:
    for pid in (4242, 5151):
        qemu(tmp_path, pid)
        counters(tmp_path, f"{pid}-14", exits=9, io_exits=4)
    found = look(Locked(str(tmp_path)))
    (gap,) = gaps(found, "hypervisor.kvm")
    assert gap.reason is Reason.PERMISSION
    assert "lockdown" in gap.detail
    assert found.hypervisor is not None
    assert (found.hypervisor.kvm_source, found.hypervisor.kvm) == (KvmSource.NONE, ())
    assert {thread.pid for thread in found.hypervisor.threads} == {4242, 5151}


def test_a_user_without_rights_is_told_once(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    (gap,) = gaps(look(Refusing(tmp_path, KVM)), "hypervisor.kvm")
    assert (gap.reason, gap.remedy) == (Reason.PERMISSION, "run as root")


def test_debugfs_that_is_not_mounted_is_told_with_the_command(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    (gap,) = gaps(look(tmp_path), "hypervisor.kvm")
    assert gap.reason is Reason.ABSENT
    assert gap.remedy == "mount -t debugfs none /sys/kernel/debug"


def test_of_many_machines_only_the_first_counters_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm, "MOST_COUNTER_FILES", 16)
    qemu(tmp_path, 4241)
    for pid in (4241, 4242, 4243):
        counters(tmp_path, f"{pid}-14", **{name: pid + at for at, name in enumerate((*kvm.FIRST, "hypercalls"))})
    found = seen(tmp_path, None, "web1")
    assert [tuple(one.totals) for one in found.kvm] == [(*kvm.FIRST, "hypercalls"), kvm.FIRST, kvm.FIRST]

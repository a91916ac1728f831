from __future__ import annotations

from pathlib import Path

from tests.observe.host import gaps, look, qemu, seen
from tests.observe.looking import put
from tuneagent.model.hypervisor import HostMemory


def test_reads_what_this_kernel_has(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    for name, value in {
        "kvm/parameters/halt_poll_ns": "200000",
        "kvm/parameters/halt_poll_ns_grow": "2",
        "kvm/parameters/tdp_mmu": "Y",
        "kvm_intel/parameters/enable_apicv": "N",
        "kvm_amd/parameters/avic": "Y",
        "vhost/parameters/fork_from_owner_default": "1",
        "vhost_net/parameters/experimental_zcopytx": "0",
    }.items():
        put(tmp_path, f"/sys/module/{name}", f"{value}\n")
    found = seen(tmp_path)
    assert found.parameters == {
        "kvm.halt_poll_ns": "200000",
        "kvm.halt_poll_ns_grow": "2",
        "kvm_intel.enable_apicv": "N",
        "kvm_amd.avic": "Y",
        "vhost.fork_from_owner_default": "1",
        "vhost_net.experimental_zcopytx": "0",
        "vhost_net": "",
    }
    assert found.vhost_net
    assert found.parameter("kvm.halt_poll_ns") == 200_000


def test_without_the_module_there_is_no_vhost(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    found = seen(tmp_path)
    assert (found.parameters, found.vhost_net) == ({}, False)


def test_reads_how_memory_is_kept(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    for name, value in {
        "ksm/run": "1",
        "ksm/pages_sharing": "731",
        "transparent_hugepage/enabled": "always [madvise] never",
        "hugepages/hugepages-2048kB/nr_hugepages": "40",
        "hugepages/hugepages-2048kB/free_hugepages": "6",
        "hugepages/hugepages-1048576kB/nr_hugepages": "9",
        "hugepages/hugepages-1048576kB/free_hugepages": "2",
    }.items():
        put(tmp_path, f"/sys/kernel/mm/{name}", f"{value}\n")
    assert seen(tmp_path).memory == HostMemory(True, 731, "madvise", 49, 8)


def test_merging_that_was_undone_does_not_run(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    put(tmp_path, "/sys/kernel/mm/ksm/run", "2\n")
    assert seen(tmp_path).memory == HostMemory(False, None, None, None, None)


def test_a_line_without_a_choice_is_told(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    put(tmp_path, "/sys/kernel/mm/transparent_hugepage/enabled", "always never\n")
    (gap,) = gaps(look(tmp_path), "hypervisor.memory")
    assert gap.line == 1

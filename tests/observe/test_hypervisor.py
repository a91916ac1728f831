from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observe.host import KVM, UUID, Counting, counters, gaps, look, qemu, seen, task
from tests.observe.looking import Refusing, put
from tests.trees import guest
from tuneagent.model.hypervisor import QemuProcess, VirtioStatus
from tuneagent.model.missing import Reason
from tuneagent.observe import threads

XML = f"<domain type='kvm'><name>web1</name><uuid>{UUID}</uuid><vcpu>{{}}</vcpu><devices/></domain>"


def libvirt(root: Path, vcpus: int = 2) -> None:
    domains = [{"state": "running", "xml": XML.format(vcpus), "inactive_xml": None}]
    connections = [{"uri": "qemu:///system", "error": None, "domains": domains}]
    put(root, "/captured/domains.json", json.dumps({"connections": connections}))


def test_a_plain_guest_shows_nothing_and_is_asked_little(tmp_path: Path) -> None:
    guest(tmp_path)
    put(tmp_path, "/sys/module/kvm/parameters/halt_poll_ns", "200000\n")
    counters(tmp_path, ".", exits=0, halt_exits=0)
    source = Counting(tmp_path)
    found = look(source)
    assert found.hypervisor is None
    assert not [gap for gap in found.missing if gap.what.startswith(("hypervisor", "tap"))]
    assert not [path for path in source.asked if path.startswith(("/sys/module/kvm", "/sys/kernel/mm"))]


def test_a_user_who_may_not_see_debugfs_is_told_nothing_of_it_on_a_plain_guest(tmp_path: Path) -> None:
    found = look(Refusing(guest(tmp_path), KVM))
    assert found.hypervisor is None
    assert not gaps(found, "hypervisor")


def test_a_process_of_qemu_makes_a_hypervisor(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    found = look(tmp_path)
    assert found.hypervisor is not None
    assert found.hypervisor.processes == (QemuProcess(4242, UUID, "web1"),)
    assert found.hypervisor.domains is None
    assert [gap.reason for gap in gaps(found, "hypervisor.domains")] == [Reason.NOT_CAPTURED]


def test_captured_domains_make_one(tmp_path: Path) -> None:
    libvirt(tmp_path)
    (domain,) = seen(tmp_path).domains or ()
    assert (domain.name, domain.vcpus) == ("web1", 2)


def test_a_socket_of_libvirt_makes_one(tmp_path: Path) -> None:
    put(tmp_path, "/run/libvirt/virtqemud-sock", "")
    assert seen(tmp_path).processes is None


def test_a_directory_of_a_machine_in_debugfs_makes_one(tmp_path: Path) -> None:
    counters(tmp_path, "4242-14", exits=0)
    found = seen(tmp_path)
    assert [one.pid for one in found.kvm] == [4242]


def test_libvirt_is_not_asked_for_the_sake_of_a_tap(tmp_path: Path) -> None:
    put(tmp_path, "/sys/class/net/vnet0/tun_flags", "0x5002\n")
    found = look(tmp_path)
    assert found.hypervisor is not None
    assert not gaps(found, "hypervisor.domains")


def test_hidden_processes_are_told(tmp_path: Path) -> None:
    libvirt(tmp_path)
    found = look(Refusing(tmp_path, "/proc"))
    assert found.hypervisor is not None
    assert found.hypervisor.processes is None
    assert [gap.remedy for gap in gaps(found, "hypervisor.processes")] == ["run as root"]


def test_the_monitor_that_was_not_asked_is_no_gap(tmp_path: Path) -> None:
    libvirt(tmp_path)
    found = look(tmp_path)
    assert found.hypervisor is not None
    assert found.hypervisor.virtio == ()
    assert not gaps(found, "hypervisor.virtio")


def test_the_monitor_that_was_asked_is_read(tmp_path: Path) -> None:
    libvirt(tmp_path)
    device = {"alias": "net0", "features": ["VIRTIO_F_X: it"], "queues_active": 2, "vhost_started": True}
    put(tmp_path, "/captured/virtio-status.json", json.dumps({UUID: [device]}))
    assert seen(tmp_path).virtio == (VirtioStatus(UUID, "net0", frozenset({"VIRTIO_F_X"}), 2, True),)


def test_of_many_a_vcpu_is_looked_for_where_the_definition_has_one_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "FEW_THREADS", 1)
    libvirt(tmp_path)
    qemu(tmp_path, 4242)
    task(tmp_path, 4242, 4243, "CPU 0/KVM")
    first = look(tmp_path)
    task(tmp_path, 4242, 4244, "CPU 1/KVM")
    assert 4244 not in {one.tid for one in seen(tmp_path, first).threads}
    libvirt(tmp_path, 3)
    assert 4244 in {one.tid for one in seen(tmp_path, first).threads}

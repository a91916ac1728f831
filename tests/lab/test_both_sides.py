"""What a domain is asked to be, its guest and its hypervisor see. Needs nothing of the program under test."""

from __future__ import annotations

import re

import pytest

from tests.lab.conftest import DomainFactory
from tests.lab.domain import Domain

pytestmark = pytest.mark.lab

VIRTIO_RING_F_EVENT_IDX = 29  # include/uapi/linux/virtio_ring.h


@pytest.mark.parametrize("event_idx", [True, False])
def test_event_index_is_feature_bit_29(domain: DomainFactory, *, event_idx: bool) -> None:
    guest = domain(event_idx=event_idx).guest
    # A string of the bits, bit 0 first (drivers/virtio/virtio.c, features_show).
    bits = guest.run("cat /sys/class/net/eth0/device/features").checked().strip()
    assert bits[VIRTIO_RING_F_EVENT_IDX] == str(int(event_idx))


def test_two_queues_have_two_input_vectors(domain: DomainFactory) -> None:
    table = domain(queues=2).guest.run("cat /proc/interrupts").checked()
    assert re.findall(r"virtio\d+-(input\.\d+)", table) == ["input.0", "input.1"]


def test_the_product_uuid_inside_is_the_domains(domain: DomainFactory) -> None:
    one = domain()
    inside = one.guest.run("cat /sys/class/dmi/id/product_uuid").checked()
    assert inside.strip().lower() == one.virsh("domuuid").strip().lower()


def test_exits_rise_with_traffic(domain: DomainFactory) -> None:
    one = domain()
    idle = _exits_during(one, "sleep 5")
    assert _exits_during(one, f"ping -q -f -w 5 {one.address}") > 2 * idle


@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_where_the_vhost_worker_lives(domain: DomainFactory, kernel: str) -> None:
    one = domain(queues=2, kernel=kernel)
    emulator = one.run(f"cat /run/libvirt/qemu/{one.name}.pid").checked().strip()
    # A kernel thread (child of kthreadd, 2) before vhost_task of 6.4, a thread of QEMU after.
    threads = [line.split() for line in one.run("ps -eLo pid,ppid,comm").checked().splitlines()]
    workers = [(pid, parent) for pid, parent, name in (row[:3] for row in threads) if name == f"vhost-{emulator}"]
    assert len(workers) == 2
    if kernel == "6.1":
        assert {parent for _, parent in workers} == {"2"}
    else:
        assert {pid for pid, _ in workers} == {emulator}


def _exits_during(domain: Domain, command: str) -> int:
    """Exits of all vCPUs, as libvirt counts them, while ``command`` runs beside the domain."""
    before = _exits(domain)
    domain.run(command).checked()
    return _exits(domain) - before


def _exits(domain: Domain) -> int:
    counts = re.findall(r"vcpu\.\d+\.exits\.sum=(\d+)", domain.virsh("domstats", "--vcpu"))
    assert len(counts) == domain.definition.vcpus
    return sum(map(int, counts))

"""The virtio bus."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observe.looking import Refusing, gaps_at, look, put
from tests.trees import FEATURES, PCI, Wiring, guest
from tuneagent.model.missing import Reason
from tuneagent.model.virtio import Feature, Transport, VirtioDevice
from tuneagent.observe import snapshot

DEVICE = "/sys/bus/virtio/devices/virtio0"


def test_a_nic_on_pci(tmp_path: Path) -> None:
    expected = VirtioDevice("virtio0", 0, 1, FEATURES, Transport.PCI, PCI, "virtio_net")
    assert look(guest(tmp_path)).virtio == (expected,)


def test_a_nic_on_mmio(tmp_path: Path) -> None:
    expected = VirtioDevice("virtio0", 0, 1, FEATURES, Transport.MMIO, "a003e00.virtio_mmio", "virtio_net")
    assert look(guest(tmp_path, wiring=Wiring.MMIO, queues=1)).virtio == (expected,)


def at_parent(root: Path, parent: str) -> Transport:
    device = f"sys/devices/platform/{parent}/virtio7"
    put(root, f"/{device}/device", "0x0001\n")
    put(root, f"/{device}/features", "01\n")
    (root / "sys/bus/virtio/devices/virtio7").symlink_to(f"../../../../{device}")
    return (look(root).virtio or ())[1].transport


@pytest.mark.parametrize(
    ("parent", "transport"),
    [
        ("LNRO0005:00", Transport.MMIO),
        ("virtio-mmio.0", Transport.MMIO),
        ("LNRO0005", Transport.OTHER),
        ("10000.virtio", Transport.OTHER),
    ],
)
def test_mmio_by_the_name_of_its_parent(tmp_path: Path, parent: str, transport: Transport) -> None:
    assert at_parent(guest(tmp_path), parent) is transport


def test_mmio_by_the_driver_of_its_parent(tmp_path: Path) -> None:
    guest(tmp_path)
    put(tmp_path, "/sys/bus/platform/drivers/virtio-mmio/uevent", "")
    parent = tmp_path / "sys/devices/platform/10000.virtio"
    parent.mkdir(parents=True)
    (parent / "driver").symlink_to("../../../bus/platform/drivers/virtio-mmio")
    assert at_parent(tmp_path, "10000.virtio") is Transport.MMIO


def test_a_nic_on_a_channel_of_s390(tmp_path: Path) -> None:
    guest(tmp_path)
    put(tmp_path, "/sys/devices/css0/0.0.0001/0.0.0002/virtio7/device", "0x0001\n")
    put(tmp_path, "/sys/devices/css0/0.0.0001/0.0.0002/virtio7/features", "01\n")
    (tmp_path / "sys/bus/virtio/devices/virtio7").symlink_to("../../../devices/css0/0.0.0001/0.0.0002/virtio7")
    expected = VirtioDevice("virtio7", 7, 1, frozenset({1}), Transport.CCW, "0.0.0002", None)
    assert (look(tmp_path).virtio or ())[1] == expected


def test_features_are_a_string_of_bits_from_the_left(tmp_path: Path) -> None:
    (device,) = look(guest(tmp_path, features=frozenset({0, 29, 40}))).virtio or ()
    assert device.features == frozenset({0, 29, 40})
    assert (device.has(Feature.RING_EVENT_IDX), device.has(Feature.NET_MQ)) == (True, False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", Reason.EMPTY), ("0102", Reason.MALFORMED), ("1" * 5000, Reason.MALFORMED), ("01\n01", Reason.MALFORMED)],
)
def test_features_that_cannot_be_understood_are_unknown_and_not_off(tmp_path: Path, text: str, reason: Reason) -> None:
    put(guest(tmp_path), f"{DEVICE}/features", text)
    seen = look(tmp_path)
    (device,) = seen.virtio or ()
    assert device.features is None
    assert device.has(Feature.RING_EVENT_IDX) is None
    assert [gap.reason for gap in gaps_at(seen, f"{DEVICE}/features")] == [reason]


@pytest.mark.parametrize("name", ["device", "features"])
def test_what_may_not_be_read_is_named(tmp_path: Path, name: str) -> None:
    seen = snapshot(Refusing(guest(tmp_path), f"{DEVICE}/{name}"))
    assert [gap.reason for gap in gaps_at(seen, f"{DEVICE}/{name}")] == [Reason.PERMISSION]
    assert [nic.name for nic in seen.virtio_nics] == ["eth0"], "what a nameless device of the bus is, its link tells"


def test_an_empty_bus_is_known_and_an_absent_one_is_not(tmp_path: Path) -> None:
    guest(tmp_path)
    (tmp_path / "sys/bus/virtio/devices/virtio0").unlink()
    assert look(tmp_path).virtio == ()
    (tmp_path / "sys/bus/virtio/devices").rmdir()
    seen = look(tmp_path)
    assert seen.virtio is None
    assert [gap.what for gap in gaps_at(seen, "/sys/bus/virtio/devices")] == ["virtio"]


def test_names_that_are_no_devices_are_passed_over(tmp_path: Path) -> None:
    guest(tmp_path)
    for name in ("virtio", "virtio1x", "virtio9999999", "vhost0"):
        put(tmp_path, f"/sys/bus/virtio/devices/{name}/device", "0x0001\n")
    assert [device.name for device in look(tmp_path).virtio or ()] == ["virtio0"]


def test_a_device_without_a_place_says_so(tmp_path: Path) -> None:
    put(guest(tmp_path), "/sys/bus/virtio/devices/virtio3/device", "0x0002\n")
    put(tmp_path, "/sys/bus/virtio/devices/virtio3/features", "1\n")
    seen = look(tmp_path)
    assert [gap.what for gap in seen.missing] == ["virtio.virtio3.bus_address"]

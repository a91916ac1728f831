"""QEMU's monitor: replies in the shape that QEMU 10 gives, shortened, and a driver that has no monitor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.machine.bindings import needs_libvirt
from tuneagent.machine import monitor
from tuneagent.machine.libvirt_connection import Connections
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

PATH = "/machine/peripheral/net3/virtio-backend"
EVENT_INDEX = "VIRTIO_RING_F_EVENT_IDX: Used & avail. event fields enabled"
MAC = "VIRTIO_NET_F_MAC: Device has given MAC address"
DRIVER_OK = "VIRTIO_CONFIG_S_DRIVER_OK: Driver setup and ready"
STATUS: dict[str, Any] = {
    "name": "virtio-net",
    "num-vqs": 7,
    "vhost-started": True,
    "status": {"statuses": ["VIRTIO_CONFIG_S_DRIVER: Guest OS compatible with device", DRIVER_OK]},
    "guest-features": {"transports": [EVENT_INDEX], "dev-features": [MAC]},
    "host-features": {"transports": ["VIRTIO_F_VERSION_1: Device compliant for v1 spec (legacy)"], "dev-features": []},
}
EXPECTED = {"alias": "net3", "features": [EVENT_INDEX, MAC], "queues_active": 2, "vhost_started": True}


class Qemu:
    """A monitor by hand."""

    def __init__(self, *paths: str, rings: tuple[int, ...] = (0x7000, 0x8000, 0), **changed: Any) -> None:
        self.devices: Any = [{"name": "virtio-net", "path": path} for path in paths]
        self.status = STATUS | {name.replace("_", "-"): value for name, value in changed.items()}
        self.rings = rings

    def __call__(self, name: str, *, path: str = "", queue: int = 0) -> Any:
        if name == "x-query-virtio":
            return self.devices
        assert path in {device["path"] for device in self.devices}
        if name == "x-query-virtio-status":
            return self.status
        assert name == "x-query-virtio-queue-status"
        assert queue % 2 == 0
        if queue // 2 >= len(self.rings):
            raise SourceError("virtio-status", Reason.FAILED, f"Invalid virtqueue number {queue}")
        return {"queue-index": queue, "vring-num": 256, "vring-desc": self.rings[queue // 2]}


def test_a_device_that_runs() -> None:
    assert monitor.devices(Qemu(PATH)) == [EXPECTED]


def test_a_device_whose_driver_is_not_ready_has_negotiated_nothing() -> None:
    nothing: dict[str, list[str]] = {"transports": [], "dev-features": []}
    assert monitor.devices(Qemu(PATH, status={"statuses": []}, guest_features=nothing)) == []


def test_only_network_devices_that_libvirt_named() -> None:
    qemu = Qemu(PATH, "/machine/peripheral-anon/device[2]/virtio-backend", "/machine/peripheral/a/b/virtio-backend")
    qemu.devices.append({"name": "virtio-blk", "path": "/machine/peripheral/virtio-disk0/virtio-backend"})
    assert [device["alias"] for device in monitor.devices(qemu)] == ["net3"]


def test_rings_that_are_not_told() -> None:
    assert monitor.devices(Qemu(PATH, rings=(0x7000,))) == [EXPECTED | {"queues_active": None}]


def test_a_device_that_does_not_tell_of_vhost() -> None:
    assert monitor.devices(Qemu(PATH, vhost_started=None)) == [EXPECTED | {"vhost_started": None}]


@pytest.mark.parametrize(
    "changed",
    [
        {"num_vqs": -1},
        {"num_vqs": "3"},
        {"guest_features": None},
        {"guest_features": {"transports": [7], "dev-features": []}},
        {"guest_features": {"transports": [], "dev-features": ["x"] * 300}},
        {"status": {}},
    ],
)
def test_a_status_that_is_none(changed: dict[str, Any]) -> None:
    with pytest.raises(SourceError) as caught:
        monitor.devices(Qemu(PATH, **changed))
    assert (caught.value.source, caught.value.reason) == ("virtio-status", Reason.MALFORMED)


@pytest.mark.parametrize("listed", [None, {}, [3], [{"name": "virtio-net"}], [{"path": 1}] * 65])
def test_a_list_of_devices_that_is_none(listed: Any) -> None:
    qemu = Qemu()
    qemu.devices = listed
    with pytest.raises(SourceError) as caught:
        monitor.devices(qemu)
    assert caught.value.reason is Reason.MALFORMED


def test_so_many_queues_that_no_device_has_them() -> None:
    (device,) = monitor.devices(Qemu(PATH, num_vqs=2**63, rings=(1,) * 1000))
    assert device["queues_active"] == monitor.MOST_PAIRS


def test_what_a_reply_returns() -> None:
    assert monitor.returned('{"return": [{"name": "virtio-net"}], "id": "libvirt-9"}') == [{"name": "virtio-net"}]


@pytest.mark.parametrize(
    ("reply", "reason", "detail"),
    [
        (
            {"error": {"class": "CommandNotFound", "desc": "The command x-query-virtio has not been found"}},
            Reason.UNSUPPORTED,
            "from QEMU 7.2 on",
        ),
        ({"error": {"class": "GenericError", "desc": "Invalid virtqueue number 9"}}, Reason.FAILED, "number 9"),
        ({"error": {"class": 3}}, Reason.MALFORMED, "$.error.class"),
        ([], Reason.MALFORMED, "an object is expected"),
    ],
)
def test_a_reply_that_is_an_error(reply: Any, reason: Reason, detail: str) -> None:
    with pytest.raises(SourceError) as caught:
        monitor.returned(json.dumps(reply))
    assert caught.value.reason is reason
    assert detail in caught.value.detail


@needs_libvirt
def test_a_driver_that_has_no_monitor() -> None:
    with pytest.raises(SourceError) as caught:
        monitor.read(Connections(("test:///default",), read_only=False))
    assert (caught.value.source, caught.value.reason) == ("virtio-status", Reason.UNSUPPORTED)

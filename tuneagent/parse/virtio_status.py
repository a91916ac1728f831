"""The captured source ``virtio-status``: what x-query-virtio-status says of a domain's virtio-net devices, by UUID.

``{"4dea…": [{"alias": "net0", "features": ["VIRTIO_RING_F_EVENT_IDX: Used & avail. event fields enabled"],
"queues_active": 2, "vhost_started": true}]}``
"""

from __future__ import annotations

from typing import Any

from tuneagent.model.hypervisor import VirtioStatus
from tuneagent.parse.json_values import array, boolean, mapping, member, optional_natural, string
from tuneagent.parse.lines import U32_MAX

_MAX_DEVICES = 512
_MAX_FEATURES = 1024


def parse(value: Any) -> tuple[VirtioStatus, ...]:
    """Devices in the order of their domains' UUIDs. ParseError with the path of the first wrong value."""
    found: list[VirtioStatus] = []
    for uuid, devices in sorted(mapping(value, "$").items()):
        where = member("$", uuid)
        elements = array(devices, where, _MAX_DEVICES)
        found += [_device(uuid.lower(), device, f"{where}[{index}]") for index, device in enumerate(elements)]
    return tuple(found)


def _device(uuid: str, value: Any, where: str) -> VirtioStatus:
    fields = mapping(value, where)
    started = fields.get("vhost_started")
    return VirtioStatus(
        uuid=uuid,
        alias=string(fields.get("alias"), f"{where}.alias"),
        features=_features(fields.get("features"), f"{where}.features"),
        queues_active=optional_natural(fields, "queues_active", where, U32_MAX),
        vhost_started=None if started is None else boolean(started, f"{where}.vhost_started"),
    )


def _features(value: Any, where: str) -> frozenset[str]:
    """The names; QEMU adds what each means after a colon."""
    names = array(value, where, _MAX_FEATURES)
    return frozenset(string(name, f"{where}[{index}]").partition(":")[0] for index, name in enumerate(names))

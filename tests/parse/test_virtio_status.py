from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.hypervisor import VirtioStatus
from tuneagent.parse.virtio_status import parse

EVENT_IDX = "VIRTIO_RING_F_EVENT_IDX: Used & avail. event fields enabled"


def test_reads_devices_by_domain() -> None:
    value = {
        "B0": [{"alias": "net1", "features": []}],
        "A0": [
            {"alias": "net0", "features": [EVENT_IDX, "VIRTIO_NET_F_MQ"], "queues_active": 2, "vhost_started": True}
        ],
    }
    first, second = parse(value)
    assert first == VirtioStatus("a0", "net0", frozenset({"VIRTIO_RING_F_EVENT_IDX", "VIRTIO_NET_F_MQ"}), 2, True)
    assert first.event_index
    assert second == VirtioStatus("b0", "net1", frozenset(), None, None)
    assert not second.event_index


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([], "$:"),
        ({"a": {}}, "$.a:"),
        ({"a": [{"features": []}]}, "$.a[0].alias:"),
        ({"a": [{"alias": "net0"}]}, "$.a[0].features:"),
        ({"a": [{"alias": "net0", "features": ["X", 3]}]}, "$.a[0].features[1]:"),
        ({"a": [{"alias": "net0", "features": [], "queues_active": True}]}, "$.a[0].queues_active:"),
        ({"a": [{"alias": "net0", "features": [], "vhost_started": 1}]}, "$.a[0].vhost_started:"),
    ],
)
def test_a_fault_is_named_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(value)
    assert str(caught.value).startswith(path)

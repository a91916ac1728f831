from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.links import TapLink, taps
from tuneagent.parse.tun_flags import TunFlags

COUNTERS: dict[str, int | None] = {
    "rx_packets": 11,
    "tx_packets": 12,
    "rx_bytes": 13,
    "tx_bytes": 14,
    "rx_dropped": 15,
    "tx_dropped": 16,
}
TAP = {"type": 2, "vnet_hdr": True, "multi_queue": False, "queues": None, "master": 9, "tx_queue_len": 777}


def one(**changes: Any) -> list[dict[str, Any]]:
    tap = TAP | {"statistics": COUNTERS | {"rx_errors": 17}} | changes
    return [{"ifindex": 4, "name": "vnet0", "kind": "tun", "tap": tap}, {"ifindex": 9, "name": "br0"}]


def test_reads_a_tap_with_the_name_of_its_bridge() -> None:
    flags = TunFlags(tap=True, multi_queue=False, vnet_hdr=True)
    told = taps(one())
    assert told.kinds == {"vnet0": "tun", "br0": None}
    assert told.taps == {"vnet0": TapLink(4, flags, None, "br0", 777, COUNTERS)}


def test_reads_a_tunnel_and_the_queues_of_many() -> None:
    found = taps(one(type=1, vnet_hdr=False, multi_queue=True, queues=3, master=None)).taps["vnet0"]
    assert (found.flags, found.queues, found.master) == (TunFlags(tap=False, multi_queue=True, vnet_hdr=False), 3, None)


def test_a_counter_that_is_not_told_is_unknown() -> None:
    assert taps(one(statistics={"tx_dropped": 16})).taps["vnet0"].counters["tx_packets"] is None


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"type": "2"}, "$[0].tap.type:"),
        ({"vnet_hdr": 1}, "$[0].tap.vnet_hdr:"),
        ({"multi_queue": None}, "$[0].tap.multi_queue:"),
        ({"queues": -1}, "$[0].tap.queues:"),
        ({"statistics": None}, "$[0].tap.statistics:"),
        ({"statistics": {"tx_dropped": 2**64}}, "$[0].tap.statistics.tx_dropped:"),
    ],
)
def test_a_fault_is_named_with_its_path(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(ParseError) as caught:
        taps(one(**changes))
    assert str(caught.value).startswith(path)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.observe.host import Counting, gaps, look, qemu, seen, tap
from tests.observe.looking import put
from tuneagent.model.hypervisor import Tap

COUNTERS = {"tx_packets": 12, "rx_packets": 11, "tx_bytes": 14, "rx_bytes": 13, "tx_dropped": 16, "rx_dropped": 15}


def links(root: Path, *elements: dict[str, Any]) -> None:
    put(root, "/captured/links.json", json.dumps(list(elements)))


def test_reads_a_tap_of_sysfs(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    tap(tmp_path, "vnet0", "0x5102", **COUNTERS)
    for queue in ("rx-0", "rx-1", "tx-0"):
        put(tmp_path, f"/sys/class/net/vnet0/queues/{queue}/x", "0\n")
    (tmp_path / "sys/class/net/vnet0/master").symlink_to("../br7")
    assert seen(tmp_path).taps == (Tap("vnet0", 17, True, 2, "br7", 1000, 12, 11, 14, 13, 16, 15, None),)


def test_a_counter_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    tap(tmp_path, "vnet0", tx_packets=900_000, tx_dropped=48_211, rx_packets=100)
    (found,) = seen(tmp_path).taps
    assert (found.tx_dropped, found.tx_packets, found.rx_packets, found.rx_dropped) == (48_211, 900_000, 100, None)
    assert found.multi_queue is False


def test_a_counter_that_is_no_number_is_told(tmp_path: Path) -> None:
    tap(tmp_path, "vnet0", tx_packets=3)
    put(tmp_path, "/sys/class/net/vnet0/statistics/tx_dropped", "many\n")
    found = look(tmp_path)
    (gap,) = gaps(found, "tap.vnet0")
    assert (gap.what, gap.source) == ("tap.vnet0.tx_dropped", "/sys/class/net/vnet0/statistics/tx_dropped")


def test_one_dump_tells_all_and_no_file_is_read(tmp_path: Path) -> None:
    tap(tmp_path, "vnet0", tx_packets=1)
    told = {"type": 2, "vnet_hdr": True, "multi_queue": True, "queues": 3, "master": 9, "tx_queue_len": 500}
    element = {"ifindex": 4, "name": "vnet0", "kind": "tun", "tap": told | {"statistics": COUNTERS}}
    links(tmp_path, element, {"ifindex": 9, "name": "br0", "kind": "bridge"})
    source = Counting(tmp_path)
    assert seen(source).taps == (Tap("vnet0", 4, True, 3, "br0", 500, 12, 11, 14, 13, 16, 15, None),)
    assert not [path for path in source.asked if "vnet0" in path]


def test_a_tap_for_one_queue_has_one(tmp_path: Path) -> None:
    tap(tmp_path, "vnet0")
    told = {"type": 2, "vnet_hdr": True, "multi_queue": False, "queues": None, "statistics": COUNTERS}
    links(tmp_path, {"ifindex": 4, "name": "vnet0", "kind": "tun", "tap": told})
    assert seen(tmp_path).taps[0].queues == 1


def test_the_taps_of_a_hypervisor_are_no_nics(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    tap(tmp_path, "vnet0", rx_packets=3)
    tap(tmp_path, "tun0", "0x1001", rx_packets=4)
    put(tmp_path, "/sys/class/net/eth0/ifindex", "2\n")
    found = look(tmp_path)
    assert found.hypervisor is not None
    assert [one.name for one in found.hypervisor.taps] == ["vnet0"]
    assert [nic.name for nic in found.nics or ()] == ["eth0", "tun0"]


def test_a_vpn_of_a_plain_machine_stays_a_nic(tmp_path: Path) -> None:
    for name, flags in (("tap0", "0x1002"), ("tun0", "0x1001")):
        tap(tmp_path, name, flags, rx_packets=3)
    found = look(tmp_path)
    assert found.hypervisor is None
    assert [nic.name for nic in found.nics or ()] == ["tap0", "tun0"]


def test_a_macvtap_is_a_tap(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    put(tmp_path, "/sys/class/net/macvtap0/statistics/rx_dropped", "31\n")
    links(tmp_path, {"ifindex": 4, "name": "macvtap0", "kind": "macvtap"})
    (found,) = seen(tmp_path).taps
    assert (found.name, found.rx_dropped, found.multi_queue) == ("macvtap0", 31, None)


def test_without_a_dump_a_macvtap_is_known_by_its_character_device(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    put(tmp_path, "/sys/class/net/uplink0/macvtap/tap4/dev", "240:1\n")
    put(tmp_path, "/sys/class/net/macvtap9/ifindex", "9\n")
    assert [(one.name, one.multi_queue) for one in seen(tmp_path).taps] == [("uplink0", None)]

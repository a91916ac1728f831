"""Network interfaces, on trees of every wiring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.observe.looking import Refusing, gaps_at, look, put
from tests.trees import MAC, PCI, STATISTICS, Guest, Wiring, guest
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.missing import Reason
from tuneagent.model.nic import Channels, Coalesce, Link, LinkStatistics, Nic, QueueStatistics, Rings, RxQueue, TxQueue
from tuneagent.observe import snapshot
from tuneagent.observe.nics import FLOW_ENTRIES

ETH0 = "/sys/class/net/eth0"


def eth0(root: Path) -> Nic:
    nic = look(root).nic("eth0")
    assert nic is not None
    return nic


def ethtool(root: Path, **sections: Any) -> None:
    file = root / "captured/ethtool.json"
    report = json.loads(file.read_text())
    report["eth0"] |= sections
    file.write_text(json.dumps(report))


def test_everything_of_a_nic(tmp_path: Path) -> None:
    nic = eth0(guest(tmp_path, cpus=2, queues=2, queues_max=6, rps={1: "3"}, xps={0: "2"}, timeouts={0: 5, 1: 7}))
    assert (nic.ifindex, nic.mac, nic.operstate, nic.mtu, nic.driver) == (2, MAC, "up", 1402, "virtio_net")
    assert (nic.virtio, nic.bus_address, nic.node, nic.local_cpus) == ("virtio0", PCI, None, CpuSet.of([0, 1]))
    assert nic.rx_queues == (RxQueue(0, CpuSet(), 10), RxQueue(1, CpuSet.of([0, 1]), 11))
    assert nic.tx_queues == (TxQueue(0, CpuSet.of([1]), 5), TxQueue(1, CpuSet.of([1]), 7))
    assert nic.channels == Channels(combined=2, combined_max=6)
    assert nic.rings == Rings(256, 1024, 128, 512)
    assert nic.coalesce == Coalesce(0, 1, 3, 2)
    assert nic.offloads == {"rx-gro": True, "tx-tcp-segmentation": True, "rx-hashing": False}
    assert (nic.napi_defer_hard_irqs, nic.gro_flush_timeout_ns, nic.threaded_napi) == (4, 2_000, False)
    assert nic.link == Link(None, "mq", 2, 2)
    assert nic.statistics == LinkStatistics(**STATISTICS)


def test_queue_statistics_from_both_sources(tmp_path: Path) -> None:
    nic = eth0(guest(tmp_path, queues=2, kicks={1: (17, 18)}, queue_packets={1: (1_000, 2_000)}))
    assert nic.queue_statistics is not None
    assert nic.queue_statistics[1] == QueueStatistics(1, 1_000, 64_001, 3, 17, 2_000, 160_003, None, 18, None)
    assert nic.driver_statistics["tx1_kicks"] == 18


def test_queue_interrupts_in_order(tmp_path: Path) -> None:
    assert eth0(guest(tmp_path, queues=11)).queue_irqs[-5:] == (
        QueueIrq(49, QueueRole.INPUT, 9),
        QueueIrq(50, QueueRole.OUTPUT, 9),
        QueueIrq(51, QueueRole.INPUT, 10),
        QueueIrq(52, QueueRole.OUTPUT, 10),
        QueueIrq(30, QueueRole.CONFIG, None),
    )


@pytest.mark.parametrize(
    ("wiring", "expected"),
    [
        (Wiring.SHARED_VECTOR, [QueueIrq(30, QueueRole.CONFIG, None), QueueIrq(31, QueueRole.SHARED_QUEUES, None)]),
        (Wiring.LEGACY_LINE, [QueueIrq(11, QueueRole.DEVICE, None)]),
        (Wiring.MMIO, [QueueIrq(30, QueueRole.DEVICE, None)]),
    ],
)
def test_interrupts_of_other_wirings(tmp_path: Path, wiring: Wiring, expected: list[QueueIrq]) -> None:
    nic = eth0(guest(tmp_path, wiring=wiring))
    assert sorted(nic.queue_irqs, key=lambda irq: irq.irq) == expected
    assert nic.pairs() == {}


def test_the_interrupts_of_virtio10_are_not_those_of_virtio1(tmp_path: Path) -> None:
    guest(tmp_path, cpus=2, queues=1)
    text = (tmp_path / "proc/interrupts").read_text()
    other = " 77:          5          6  PCI-MSIX-0000:00:09.0   1-edge      virtio01-input.0, virtio00-output.0\n"
    put(tmp_path, "/proc/interrupts", text + other)
    assert {irq.irq for irq in eth0(tmp_path).queue_irqs} == {30, 31, 32}


def test_a_row_of_another_pci_function_is_not_ours(tmp_path: Path) -> None:
    guest(tmp_path, cpus=2, queues=1)
    text = (tmp_path / "proc/interrupts").read_text()
    put(tmp_path, "/proc/interrupts", text + " 77:   5   6  PCI-MSIX-0000:00:09.0   1-edge   virtio0-input.7\n")
    assert {irq.irq for irq in eth0(tmp_path).queue_irqs} == {30, 31, 32}


def test_a_single_queue_has_no_xps_map(tmp_path: Path) -> None:
    seen = look(guest(tmp_path, queues=1))
    nic = seen.nic("eth0")
    assert nic is not None
    assert nic.tx_queues == (TxQueue(0, None, 0),)
    assert seen.missing == ()


def test_a_vlan_and_what_is_below_it(tmp_path: Path) -> None:
    seen = look(guest(tmp_path, vlan=True))
    assert [nic.name for nic in seen.nics or ()] == ["eth0", "eth0.7", "lo"]
    vlan, below = seen.nic("eth0.7"), seen.nic("eth0")
    assert vlan is not None
    assert below is not None
    assert (vlan.lower, vlan.virtio, vlan.bus_address) == (("eth0",), None, None)
    assert (below.upper, below.lower) == (("eth0.7",), ())
    assert vlan.link == Link("vlan", "noqueue", 1, 1)
    assert [nic.name for nic in seen.virtio_nics] == ["eth0"]


def test_what_was_not_captured_is_unknown_and_no_zero(tmp_path: Path) -> None:
    seen = look(guest(tmp_path, captured=False))
    nic = seen.nic("eth0")
    assert nic is not None
    assert (nic.channels, nic.rings, nic.coalesce, nic.offloads, nic.queue_statistics, nic.link) == (None,) * 6
    assert nic.driver == "virtio_net", "the driver's link tells it too"
    assert nic.queue_pairs == 4
    assert {gap.source for gap in seen.missing if gap.reason is Reason.NOT_CAPTURED} == {
        "links", "ethtool", "queue-statistics", "units", "lock-contention",
    }  # fmt: skip


@pytest.mark.parametrize("section", ["channels", "rings", "coalesce", "statistics"])
def test_what_the_driver_does_not_report_is_named(tmp_path: Path, section: str) -> None:
    guest(tmp_path)
    ethtool(tmp_path, **{section: {"error": "unsupported", "detail": "Operation not supported"}})
    seen = look(tmp_path)
    assert [(gap.what, gap.reason) for gap in seen.missing] == [(f"nic.eth0.{section}", Reason.UNSUPPORTED)]


def test_a_captured_answer_that_is_no_answer_is_named_with_its_place(tmp_path: Path) -> None:
    guest(tmp_path)
    ethtool(tmp_path, channels={"combined": -4})
    seen = look(tmp_path)
    (gap,) = gaps_at(seen, "ethtool")
    assert (gap.what, gap.reason) == ("nics.ethtool", Reason.MALFORMED)
    assert "$.eth0.channels.combined" in gap.detail
    assert eth0(tmp_path).statistics is not None


@pytest.mark.parametrize("name", sorted(STATISTICS))
@pytest.mark.parametrize("text", ["", "-1", "many", "1 2", "9" * 30])
def test_one_counter_that_is_no_number_costs_only_itself(tmp_path: Path, name: str, text: str) -> None:
    path = f"{ETH0}/statistics/{name}"
    put(guest(tmp_path), f"/sys/devices/pci0000:00/{PCI}/virtio0/net/eth0/statistics/{name}", text)
    seen = look(tmp_path)
    nic = seen.nic("eth0")
    assert nic is not None
    assert nic.statistics == LinkStatistics(**(STATISTICS | {name: None}))
    assert [gap.what for gap in gaps_at(seen, path)] == [f"nic.eth0.{name}"]


def test_a_counter_that_the_kernel_lacks_is_none(tmp_path: Path) -> None:
    guest(tmp_path)
    (tmp_path / f"sys/devices/pci0000:00/{PCI}/virtio0/net/eth0/statistics/rx_missed_errors").unlink()
    assert eth0(tmp_path).statistics == LinkStatistics(**(STATISTICS | {"rx_missed_errors": None}))


def test_no_counter_at_all_is_a_gap(tmp_path: Path) -> None:
    guest(tmp_path)
    for file in (tmp_path / f"sys/devices/pci0000:00/{PCI}/virtio0/net/eth0/statistics").iterdir():
        file.unlink()
    seen = look(tmp_path)
    assert [gap.what for gap in seen.missing] == ["nic.eth0.statistics"]


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("address", "nic.eth0.mac"),
        ("ifindex", "nic.eth0.ifindex"),
        ("queues/rx-1/rps_cpus", "nic.eth0.rx-1.rps_cpus"),
        ("queues/tx-2/xps_cpus", "nic.eth0.tx-2.xps_cpus"),
        ("queues/tx-3/tx_timeout", "nic.eth0.tx-3.timeouts"),
        ("queues", "nic.eth0.queues"),
        ("statistics/rx_bytes", "nic.eth0.rx_bytes"),
        ("gro_flush_timeout", "nic.eth0.gro_flush_timeout_ns"),
    ],
)
def test_what_may_not_be_read_is_named(tmp_path: Path, path: str, what: str) -> None:
    seen = snapshot(Refusing(guest(tmp_path), f"{ETH0}/{path}"))
    assert [(gap.what, gap.reason) for gap in seen.missing] == [(what, Reason.PERMISSION)]
    assert [nic.name for nic in seen.nics or ()] == ["eth0", "lo"]


def test_refused_maps_are_unknown_and_not_off(tmp_path: Path) -> None:
    paths = [f"{ETH0}/queues/rx-0/rps_cpus", f"{ETH0}/queues/tx-0/xps_cpus"]
    nic = snapshot(Refusing(guest(tmp_path, queues=2), *paths)).nic("eth0")
    assert nic is not None
    assert (nic.rx_queues[0].rps_cpus, nic.tx_queues[0].xps_cpus) == (None, None)
    assert nic.rx_queues[1].rps_cpus == CpuSet()


@pytest.mark.parametrize(("node", "expected"), [("-1", None), ("1", 1), ("0", 0)])
def test_the_node_of_the_pci_function(tmp_path: Path, node: str, expected: int | None) -> None:
    put(guest(tmp_path), f"/sys/devices/pci0000:00/{PCI}/numa_node", f"{node}\n")
    assert eth0(tmp_path).node == expected


def test_names_that_no_interface_has(tmp_path: Path) -> None:
    guest(tmp_path)
    for name in ("bonding_masters", "evil name", "x" * 16, "\x1b[31m"):
        put(tmp_path, f"/sys/class/net/{name}", "")
    seen = look(tmp_path)
    assert [nic.name for nic in seen.nics or ()] == ["eth0", "lo"]
    assert len(seen.missing) == 3
    assert all(gap.source.isprintable() and gap.reason is Reason.MALFORMED for gap in seen.missing)


def test_queue_directories_with_other_names_are_passed_over(tmp_path: Path) -> None:
    guest(tmp_path, queues=2)
    for name in ("rx-", "rx-1x", "tx-999999", "cx-0"):
        put(tmp_path, f"/sys/devices/pci0000:00/{PCI}/virtio0/net/eth0/queues/{name}/rps_cpus", "1")
    nic = eth0(tmp_path)
    assert ([queue.index for queue in nic.rx_queues], [queue.index for queue in nic.tx_queues]) == ([0, 1], [0, 1])


def test_without_the_directory_of_interfaces_nothing_is_known_of_them(tmp_path: Path) -> None:
    seen = snapshot(Refusing(guest(tmp_path), "/sys/class/net"))
    assert seen.nics is None
    assert gaps_at(seen, "/sys/class/net")[0].reason is Reason.PERMISSION


def test_links_that_lead_out_or_in_a_circle_raise_nothing(tmp_path: Path) -> None:
    root = Guest().write(tmp_path)
    for name, target in (("out", "../../../../../../../etc"), ("circle", "circle"), ("gone", "../nowhere")):
        (root / f"sys/class/net/{name}").symlink_to(target)
    seen = look(root)
    assert {nic.name for nic in seen.nics or ()} == {"circle", "eth0", "gone", "lo", "out"}
    circle = seen.nic("circle")
    assert circle is not None
    assert (circle.virtio, circle.statistics, circle.ifindex) == (None, None, None)


def test_a_failover_master_borrows_the_device_of_its_standby(tmp_path: Path) -> None:
    guest(tmp_path, cpus=2, queues=2)
    device = tmp_path / f"sys/devices/pci0000:00/{PCI}/virtio0"
    master = device / "net/master"
    put(tmp_path, f"/{master.relative_to(tmp_path)}/statistics/rx_packets", "77\n")
    (tmp_path / "sys/class/net/master").symlink_to(f"../../devices/pci0000:00/{PCI}/virtio0/net/master")
    (master / "device").symlink_to("../..")
    assert look(tmp_path).nic("master").virtio == "virtio0"  # type: ignore[union-attr]  # it is there
    (master / "lower_eth0").symlink_to("../eth0")
    borrowed = look(tmp_path).nic("master")
    assert borrowed is not None
    assert (borrowed.virtio, borrowed.bus_address, borrowed.queue_irqs) == (None, None, ())
    assert eth0(tmp_path).virtio == "virtio0"


def test_flows_that_all_sockets_remember(tmp_path: Path) -> None:
    root = guest(tmp_path)
    assert look(root).rps_sock_flow_entries is None
    assert not gaps_at(look(root), FLOW_ENTRIES)
    put(root, FLOW_ENTRIES, "32768\n")
    assert look(root).rps_sock_flow_entries == 32_768
    put(root, FLOW_ENTRIES, "many\n")
    assert look(root).rps_sock_flow_entries is None
    assert gaps_at(look(root), FLOW_ENTRIES)

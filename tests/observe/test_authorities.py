"""The look at the running machine against programs that are not ours: ip, ethtool, lscpu, awk, psutil.

What moves is enclosed: asked before and after, and ours must lie between.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from tests.machine import oracle
from tuneagent.machine.live import Live
from tuneagent.model.nic import Nic
from tuneagent.model.snapshot import Snapshot
from tuneagent.observe import snapshot

T = TypeVar("T")
FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
AWK = r"""
NR == 1 { for (i = 1; i <= NF; i++) cpu[i] = substr($i, 4); cpus = NF; next }
$1 ~ /^[0-9]+:$/ { for (i = 1; i <= cpus; i++) print substr($1, 1, length($1) - 1), cpu[i], $(i + 1) }
"""


def tool(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout


def enclosed(ask: Callable[[], T]) -> tuple[T, Snapshot, T]:
    first = ask()
    ours = snapshot(Live())
    return first, ours, ask()


def between(first: Mapping[str, float], ours: Mapping[str, float | None], last: Mapping[str, float]) -> None:
    for name, value in ours.items():
        assert value is not None, name
        assert first[name] <= value <= last[name], name


@pytest.fixture(scope="module")
def seen() -> Snapshot:
    return snapshot(Live())


@pytest.fixture(scope="module")
def nic(seen: Snapshot) -> Nic:
    if not seen.virtio_nics:
        pytest.skip("this machine has no virtio NIC")
    return seen.virtio_nics[0]


def test_interfaces_and_what_ip_says_of_them(seen: Snapshot) -> None:
    rows = json.loads(output(tool("ip"), "-j", "-d", "link"))
    assert {nic.name for nic in seen.nics or ()} == {row["ifname"] for row in rows}
    for row in rows:
        found = seen.nic(row["ifname"])
        assert found is not None
        assert (found.ifindex, found.mac, found.mtu) == (row["ifindex"], row.get("address"), row["mtu"])
        assert (found.operstate or "").upper() == row["operstate"]
        assert found.link is not None
        assert (found.link.qdisc, found.link.tx_queue_count) == (row["qdisc"], row["num_tx_queues"])
        assert found.link.kind == row.get("linkinfo", {}).get("info_kind")


def ip_counters(name: str) -> dict[str, float]:
    (row,) = json.loads(output(tool("ip"), "-j", "-s", "link", "show", "dev", name))
    rx, tx = row["stats64"]["rx"], row["stats64"]["tx"]
    return {
        "rx_packets": rx["packets"],
        "rx_bytes": rx["bytes"],
        "rx_errors": rx["errors"],
        "rx_dropped": rx["dropped"],
        "tx_packets": tx["packets"],
        "tx_bytes": tx["bytes"],
        "tx_errors": tx["errors"],
        "tx_dropped": tx["dropped"],
    }


def ours_of(seen: Snapshot, name: str, fields: Mapping[str, str]) -> dict[str, float | None]:
    found = seen.nic(name)
    assert found is not None
    assert found.statistics is not None
    return {theirs: getattr(found.statistics, our) for theirs, our in fields.items()}


@pytest.mark.parametrize("name", ["lo", "eth0"])
def test_link_counters_lie_between_two_of_ip(name: str) -> None:
    if not Path(f"/sys/class/net/{name}").is_dir():
        pytest.skip(f"this machine has no {name}")
    first, ours, last = enclosed(lambda: ip_counters(name))
    between(first, ours_of(ours, name, {field: field for field in first}), last)


def test_link_counters_lie_between_two_of_psutil() -> None:
    fields = {
        "bytes_sent": "tx_bytes",
        "bytes_recv": "rx_bytes",
        "packets_sent": "tx_packets",
        "packets_recv": "rx_packets",
        "errin": "rx_errors",
        "errout": "tx_errors",
        "dropin": "rx_dropped",
        "dropout": "tx_dropped",
    }
    first, ours, last = enclosed(lambda: psutil.net_io_counters(pernic=True, nowrap=False))
    assert set(first) == {nic.name for nic in ours.nics or ()}
    for name, counters in first.items():
        between(counters._asdict(), ours_of(ours, name, fields), last[name]._asdict())


def test_cpu_times_lie_between_two_of_psutil() -> None:
    tick = os.sysconf("SC_CLK_TCK")
    first, ours, last = enclosed(lambda: psutil.cpu_times(percpu=True))
    assert ours.cpu_times is not None
    assert len(ours.cpu_times.rows) == len(first)
    for before, row, after in zip(first, ours.cpu_times.rows, last, strict=True):
        for field in FIELDS:
            # idle and iowait of a tickless CPU may step back by a tick (fs/proc/stat.c get_idle_time)
            slack = 2 if field in {"idle", "iowait"} else 0
            value = getattr(row, field)
            assert getattr(before, field) * tick - slack <= value + 1e-6, (row.cpu, field)
            assert value <= getattr(after, field) * tick + slack + 1e-6, (row.cpu, field)


def awk_counts() -> dict[str, float]:
    rows = output(tool("awk"), AWK, "/proc/interrupts").splitlines()
    return {f"{irq} {cpu}": float(count) for irq, cpu, count in (row.split() for row in rows)}


def test_interrupt_counts_lie_between_two_of_awk() -> None:
    first, ours, last = enclosed(awk_counts)
    assert ours.interrupts is not None
    counts: dict[str, float | None] = {
        f"{row.irq} {cpu}": count
        for row in ours.interrupts.rows
        if row.irq is not None
        for cpu, count in zip(ours.interrupts.cpus, row.counts, strict=True)
    }
    assert set(counts) == set(first)
    between(first, counts, last)


def softnet() -> dict[str, float]:
    lines = output(tool("cat"), "/proc/net/softnet_stat").splitlines()
    return {
        f"{row} {column}": int(word, 16)
        for row, line in enumerate(lines)
        for column, word in enumerate(line.split()[:3])
    }


def test_softnet_lies_between_two_of_cat() -> None:
    first, ours, last = enclosed(softnet)
    assert ours.softnet is not None
    found: dict[str, float | None] = {}
    for place, row in enumerate(ours.softnet.rows):
        found |= {f"{place} 0": row.processed, f"{place} 1": row.dropped, f"{place} 2": row.time_squeeze}
    assert set(found) == set(first)
    between(first, found, last)


def test_cpus_as_lscpu_lists_them(seen: Snapshot) -> None:
    lines = [line for line in output(tool("lscpu"), "-p=CPU,CORE,NODE").splitlines() if not line.startswith("#")]
    rows = [line.split(",") for line in lines]
    assert seen.cpus is not None
    assert list(seen.cpus.online) == [int(cpu) for cpu, _, _ in rows]
    assert len(seen.cpus.cores) == len({core for _, core, _ in rows})
    for cpu, _, node in rows:
        assert not node or int(cpu) in seen.cpus.nodes[int(node)]


def test_the_agent_s_own_confinement(seen: Snapshot) -> None:
    allowed = os.sched_getaffinity(0)
    assert seen.cpus is not None
    confined = seen.cpus.confined_to
    assert set(seen.cpus.online if confined is None else confined) == allowed & set(seen.cpus.online)


def test_a_confined_agent_is_seen_to_be_so() -> None:
    allowed = os.sched_getaffinity(0)
    if len(allowed) == 1:
        pytest.skip("this process may run on one CPU only")
    only = max(allowed)
    try:
        os.sched_setaffinity(0, {only})
        cpus = snapshot(Live()).cpus
    finally:
        os.sched_setaffinity(0, allowed)
    assert cpus is not None
    assert list(cpus.confined_to or ()) == [only]
    assert allowed <= set(cpus.online)


def test_settings_as_ethtool_prints_them(nic: Nic) -> None:
    tool("ethtool")
    for noun, theirs in ((nic.channels, oracle.channels), (nic.rings, oracle.rings), (nic.coalesce, oracle.coalesce)):
        printed = theirs(nic.name)
        if printed is None:
            assert noun is None
            continue
        assert {field: getattr(noun, field) for field in printed} == printed


def test_offloads_as_ethtool_prints_them(nic: Nic) -> None:
    tool("ethtool")
    printed = oracle.features(nic.name)
    assert nic.offloads is not None
    both = set(printed) & set(nic.offloads)
    assert len(both) > 20
    assert {name: nic.offloads[name] for name in both} == {name: printed[name] for name in both}


def test_driver_statistics_lie_between_two_of_ethtool(nic: Nic) -> None:
    tool("ethtool")
    first, ours, last = enclosed(lambda: oracle.statistics(nic.name) or {})
    found = ours.nic(nic.name)
    assert found is not None
    assert set(found.driver_statistics) == set(first)
    for name, value in found.driver_statistics.items():
        assert first[name] <= value <= last[name], name


def test_the_driver_and_its_place_as_ethtool_prints_them(nic: Nic) -> None:
    tool("ethtool")
    printed = oracle.driver(nic.name)
    assert nic.driver == printed["driver"]
    if printed.get("bus-info"):
        assert nic.bus_address in {printed["bus-info"], None} or nic.virtio == printed["bus-info"]


def test_what_is_missing_is_really_not_there(seen: Snapshot) -> None:
    for gap in seen.missing:
        if gap.source.startswith("/") and gap.reason == "absent":
            assert not Path(gap.source).exists(), gap

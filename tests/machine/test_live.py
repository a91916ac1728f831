"""The running machine against ip, ethtool, pyroute2 and /sys. Nothing of it is changed."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.machine import oracle
from tests.machine.bindings import needs_libvirt
from tuneagent.machine import ethtool, live, queue_statistics
from tuneagent.machine.live import Live
from tuneagent.machine.locks import Locks
from tuneagent.machine.netlink import GenericNetlink, NetlinkError
from tuneagent.machine.recording import Recording
from tuneagent.machine.replay import Replay
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NET = Path("/sys/class/net")
NICS = sorted(path.name for path in NET.iterdir() if (path / "device").exists())

needs_ethtool = pytest.mark.skipif(oracle.run("/usr/sbin/ethtool", "--version") is None, reason="no ethtool here")


def test_links_are_what_ip_says() -> None:
    said = Live().captured("links").value
    assert said == oracle.links()
    for link in said:
        assert link["ifindex"] == int((NET / link["name"] / "ifindex").read_text())


def test_links_are_what_pyroute2_says() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own deprecations
        pyroute2 = pytest.importorskip("pyroute2")
        with pyroute2.IPRoute() as route:
            rows = list(route.get_links())
    expected = [
        (
            row["index"],
            *(row.get_attr(f"IFLA_{name}") for name in ("IFNAME", "QDISC", "NUM_TX_QUEUES", "NUM_RX_QUEUES")),
        )
        for row in rows
    ]
    said = Live().captured("links").value
    assert [
        tuple(link[key] for key in ("ifindex", "name", "qdisc", "tx_queues", "rx_queues")) for link in said
    ] == expected


def agrees(name: str, said: dict[str, Any]) -> None:
    """One interface's sections are what ethtool prints."""
    for section in ("channels", "rings", "coalesce"):
        expected = getattr(oracle, section)(name)
        if expected is None:
            assert said[section]["error"] == "unsupported"
        else:
            assert said[section] == expected
    shown = oracle.features(name)
    common = said["features"].keys() & shown.keys()
    assert len(common) >= 40
    assert {key: said["features"][key] for key in common} == {key: shown[key] for key in common}
    assert (said["driver"] or "") == oracle.driver(name).get("driver", "")
    assert (said["bus_info"] or "") == oracle.driver(name).get("bus-info", "")


@needs_ethtool
def test_ethtool_says_the_same() -> None:
    said = Live().captured("ethtool").value
    assert said.keys() == {path.name for path in NET.iterdir() if path.is_symlink()}
    for name, sections in said.items():
        agrees(name, sections)


@needs_ethtool
@pytest.mark.parametrize("name", NICS)
def test_driver_statistics_grow_as_ethtool_shows(name: str) -> None:
    before = oracle.statistics(name)
    said = Live().captured("ethtool").value[name]["statistics"]
    after = oracle.statistics(name)
    if before is None or after is None:
        assert said["error"] == "unsupported"
        return
    assert list(said) == list(before)
    assert all(before[key] <= said[key] <= after[key] for key in said)


def test_statistics_are_asked_of_devices_only() -> None:
    said = Live().captured("ethtool").value
    assert said["lo"]["statistics"] is None
    assert said["lo"]["channels"]["error"] == "unsupported"


def test_queues_add_up_to_the_link() -> None:
    try:
        found = Live().captured("queue-statistics").value
    except SourceError as error:
        pytest.skip(str(error))
    for name, queues in found.items():
        for kind in ("rx", "tx"):
            mine = [queue for queue in queues if queue["type"] == kind]
            assert sorted(queue["index"] for queue in mine) == list(range(len(mine)))
            assert len(mine) <= len(list((NET / name / "queues").glob(f"{kind}-*")))


@pytest.mark.parametrize("name", NICS)
def test_a_virtio_queue_counts_what_the_link_counts(name: str) -> None:
    def counter(kind: str) -> int:
        return int((NET / name / "statistics" / f"{kind}_packets").read_text())

    before = {kind: counter(kind) for kind in ("rx", "tx")}
    queues = queue_statistics.read().get(name)
    after = {kind: counter(kind) for kind in ("rx", "tx")}
    if queues is None or (NET / name / "device/driver").resolve().name != "virtio_net":
        pytest.skip("its driver does not count by queue")
    for kind in ("rx", "tx"):
        total = sum(queue["packets"] for queue in queues if queue["type"] == kind)
        assert before[kind] <= total <= after[kind]


def test_captured_has_the_time_of_its_question() -> None:
    before = time.monotonic_ns()
    captured = Live().captured("links")
    assert captured.read_at_ns is not None
    assert before <= captured.read_at_ns <= time.monotonic_ns()


def test_what_nobody_provides() -> None:
    with pytest.raises(SourceError) as caught:
        Live().captured("weather")
    assert caught.value.reason is Reason.ABSENT


def test_each_provider_raises_one_kind_of_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def hide(*_: object) -> None:
        raise SourceError("/proc", Reason.PERMISSION, "hidden", "run as root")

    monkeypatch.setattr("socket.socket", refuse)
    monkeypatch.setattr("tuneagent.machine.units.BOOTED", "/none")
    monkeypatch.setattr("tuneagent.machine.processes.listing", hide)
    monkeypatch.setattr("tuneagent.machine.cpus.ONLINE", "/none")
    source = Live(("qemu+unix:///system?socket=/none",), allow_monitor=True)
    source.record_locks(1)
    files_aside = {"links", "ethtool", "queue-statistics", "units", "irqbalance-bans", "lock-contention", "lock-record"}
    assert source.providers.keys() == files_aside | {"domains", "kvm-statistics", "domain-statistics", "virtio-status"}
    for name in source.providers:
        with pytest.raises(SourceError) as caught:
            source.captured(name)
        assert caught.value.source == name
    source.close()


def test_the_monitor_is_asked_where_that_is_allowed_only() -> None:
    with pytest.raises(SourceError) as caught:
        Live().captured("virtio-status")
    assert (caught.value.reason, caught.value.detail) == (Reason.ABSENT, "the monitor was not asked")


@needs_libvirt
def test_libvirt_is_asked_where_one_says() -> None:
    source = Live(("test:///default",))
    (row,) = source.captured("domains").value["connections"]
    assert row["uri"] == "test:///default"
    assert len(row["domains"]) == 1
    source.close()


@needs_libvirt
def test_what_libvirt_says_can_be_repeated() -> None:
    source = Live(("test:///default",))
    recording = Recording(source)
    value = recording.captured("domains").value
    for name in ("domain-statistics", "virtio-status"):
        with pytest.raises(SourceError):
            recording.captured(name)
    replay = Replay(json.loads(json.dumps(recording.sample())))
    assert replay.captured("domains").value == value
    with pytest.raises(SourceError) as caught:
        replay.captured("domain-statistics")
    assert caught.value.reason is Reason.UNSUPPORTED
    with pytest.raises(SourceError) as caught:
        replay.captured("virtio-status")
    assert caught.value.detail == "the monitor was not asked"
    source.close()


@needs_libvirt
def test_connections_end_with_their_source() -> None:
    others = set(threading.enumerate())  # a test of a daemon that hangs leaves its thread behind
    source = Live(("test:///default",))
    source.captured("domains")
    assert {thread.name for thread in set(threading.enumerate()) - others} == {"libvirt"}
    del source
    gc.collect()
    assert not set(threading.enumerate()) - others


@needs_libvirt
def test_the_interpreter_ends_with_a_connection_open() -> None:
    code = "from tuneagent.machine.live import Live\nsource = Live(('test:///default',))\nsource.captured('domains')"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_one_bad_interface_does_not_spoil_the_dump(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise NetlinkError(5, "Input/output error")

    expected = ethtool.read()
    monkeypatch.setattr(GenericNetlink, "dump", fail)
    said = ethtool.read()
    for name, sections in said.items():
        assert sections["features"] == expected[name]["features"]
        for section in ("channels", "rings", "coalesce"):
            assert sections[section].get("error") == expected[name][section].get("error")


class _Impatient(Locks):
    """What is interrupted as it ends."""

    def close(self) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_as_it_is_closed_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "Locks", _Impatient)
    with pytest.raises(KeyboardInterrupt):
        Live().close()


def test_an_interrupt_as_it_is_forgotten_prints_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(live, "Locks", _Impatient)
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    monkeypatch.setattr(sys, "excepthook", lambda *error: told.append(error))
    Live()
    gc.collect()

    assert told == []

"""What a Source said comes back: from the sample, from its JSON, and from the tree written of it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuneagent.machine import recording
from tuneagent.machine.captured_json import CapturedJsonError
from tuneagent.machine.recording import Recording
from tuneagent.machine.replay import Replay
from tuneagent.machine.source import Process, Source
from tuneagent.machine.sysroot import Sysroot
from tuneagent.machine.tree import write_tree
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NIC = "/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0"
NAMES = frozenset({"irqbalance", "tuned"})


def machine(root: Path) -> Sysroot:
    """A small captured machine with a managed interrupt, a NIC behind a link, and an unreadable file."""
    files = {
        f"{NIC}/address": "52:54:00:12:34:56\n",
        f"{NIC}/mtu": "1501",
        "/proc/interrupts": "a\r\nb\\xff ä\n\n",
        "/proc/irq/9/smp_affinity": "3\n",
        "/proc/irq/10/smp_affinity": "1\n",
        "/proc/irq/10/virtio2-input.0/x": "",
        "/proc/77/comm": "irqbalance\n",
        "/proc/77/cmdline": "/usr/sbin/irqbalance\0--foreground\0",
        "/captured/links.json": '[{"name": "eth0"}, null]',
        "/captured/clock.json": json.dumps(
            {"monotonic_ns": 5, "boottime_ns": 6, "realtime_ns": 7, "read_at_ns": {"/proc/interrupts": 4}}
        ),
        "/captured/errors.json": json.dumps(
            {"files": {"/etc/shadow": {"error": "permission", "detail": "Permission denied", "remedy": "run as root"}}}
        ),
    }
    for path, text in files.items():
        file = root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    (root / "proc/irq/10/smp_affinity").chmod(0o444)
    (root / "sys/class/net").mkdir(parents=True)
    (root / "sys/class/net/eth0").symlink_to(f"../../{NIC.removeprefix('/sys/')}")
    (root / NIC[1:] / "device").symlink_to("../../../virtio2")
    (root / NIC[1:] / "../../driver").symlink_to("../../../../bus/virtio/drivers/virtio_net")
    return Sysroot(str(root))


QUESTIONS: tuple[Callable[[Source], object], ...] = (
    lambda source: source.clock(),
    lambda source: source.names("/proc/irq"),
    lambda source: source.names("/proc/irq/10"),
    lambda source: source.names("/sys/class/net"),
    lambda source: source.names("/sys/class/net/eth0"),
    lambda source: source.names("/sys/class/net/eth0/device"),
    lambda source: source.names("/sys/none"),
    lambda source: source.read("/proc/interrupts"),
    lambda source: source.read("/proc/irq/10/smp_affinity"),
    lambda source: source.read("/sys/class/net/eth0/address"),
    lambda source: source.read("/etc/shadow"),
    lambda source: source.read("/proc/irq/10/none"),
    lambda source: source.link("/sys/class/net/eth0"),
    lambda source: source.link("/sys/class/net/eth0/device"),
    lambda source: source.link("/sys/class/net/eth0/device/driver"),
    lambda source: source.link("/proc/interrupts"),
    lambda source: source.writable_mode("/proc/irq/9/smp_affinity"),
    lambda source: source.writable_mode("/proc/irq/10/smp_affinity"),
    lambda source: source.captured("links"),
    lambda source: source.captured("ethtool"),
    lambda source: source.processes(NAMES),
)


def answers(source: Source) -> list[object]:
    found: list[object] = []
    for ask in QUESTIONS:
        try:
            found.append(ask(source))
        except SourceError as error:
            found.append((error.source, error.reason, error.detail, error.remedy))
    return found


def test_the_answers_are_what_the_machine_says(tmp_path: Path) -> None:
    found = answers(machine(tmp_path))
    assert found[0] == Clock(5, 6, 7)
    assert found[1] == ("9", "10")
    assert found[10] == ("/etc/shadow", Reason.PERMISSION, "Permission denied", "run as root")
    assert found[12] == NIC
    assert found[-5:-3] == [True, False]
    assert found[-1] == (Process(77, "irqbalance", ("/usr/sbin/irqbalance", "--foreground")),)


def test_a_recording_passes_on_what_it_hears_and_repeats_it(tmp_path: Path) -> None:
    source = machine(tmp_path)
    recording = Recording(source)
    assert answers(recording) == answers(source)
    sample = json.loads(json.dumps(recording.sample()))
    assert sample == recording.sample()
    assert answers(Replay(sample)) == answers(source)
    again = Recording(Replay(sample))
    answers(again)
    assert again.sample() == sample


def test_a_tree_says_what_the_sample_says(tmp_path: Path) -> None:
    recording = Recording(machine(tmp_path / "machine"))
    expected = answers(recording)
    write_tree(recording.sample(), str(tmp_path / "tree"))
    tree = Sysroot(str(tmp_path / "tree"))
    assert answers(tree) == expected
    assert (tmp_path / "tree/sys/class/net/eth0").readlink() == Path("../../devices") / NIC.removeprefix(
        "/sys/devices/"
    )
    with pytest.raises(SourceError) as caught:
        tree.read("/sys/class/net/eth0/mtu")
    assert caught.value.reason is Reason.NOT_CAPTURED


def test_the_tree_of_the_running_machine(tmp_path: Path) -> None:
    recording = Recording(Sysroot("/"))
    expected = answers(recording)
    write_tree(recording.sample(), str(tmp_path / "tree"))
    assert answers(Sysroot(str(tmp_path / "tree"))) == expected


def test_a_tree_is_private_but_for_modes_that_are_data(tmp_path: Path) -> None:
    recording = Recording(machine(tmp_path / "machine"))
    answers(recording)
    tree = tmp_path / "tree"
    write_tree(recording.sample(), str(tree))
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tree, *tree.rglob("*")) if not path.is_symlink()}
    assert modes.pop(tree / "proc/irq/9/smp_affinity") == 0o644
    assert modes.pop(tree / "proc/irq/10/smp_affinity") == 0o444
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_a_full_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(FileExistsError):
        write_tree({}, str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_what_was_never_asked_is_not_captured() -> None:
    replay = Replay({})
    assert replay.clock() is None
    for ask in (replay.read, replay.names, replay.link, replay.writable_mode, replay.captured):
        with pytest.raises(SourceError) as caught:
            ask("/f")
        assert caught.value.reason is Reason.NOT_CAPTURED
    with pytest.raises(SourceError):
        replay.processes(NAMES)


@pytest.mark.parametrize(
    ("sample", "place"),
    [
        ([], "$"),
        ({"clock": {"monotonic_ns": 1}}, "$.clock.boottime_ns"),
        ({"clock": {"monotonic_ns": -1, "boottime_ns": 1, "realtime_ns": 1}}, "$.clock.monotonic_ns"),
        ({"clock": {"monotonic_ns": True, "boottime_ns": 1, "realtime_ns": 1}}, "$.clock.monotonic_ns"),
        ({"files": []}, "$.files"),
        ({"files": {"/f": "x"}}, '$.files["/f"]'),
        ({"files": {"/f": {"text": 3}}}, '$.files["/f"].text'),
        ({"files": {"/f": {"text": "\ud800"}}}, '$.files["/f"].text'),
        ({"files": {"/f": {"text": "", "read_at_ns": 2**64}}}, '$.files["/f"].read_at_ns'),
        ({"files": {"/f": {"error": "tired", "detail": "x"}}}, '$.files["/f"].error'),
        ({"files": {"/f": {"error": "absent"}}}, '$.files["/f"].detail'),
        ({"files": {"/f": {"error": "absent", "detail": "x", "remedy": 1}}}, '$.files["/f"].remedy'),
        ({"directories": {"/d": "ab"}}, '$.directories["/d"]'),
        ({"directories": {"/d": ["a", ".."]}}, '$.directories["/d"][1]'),
        ({"directories": {"/d": ["a/b"]}}, '$.directories["/d"][0]'),
        ({"links": {"/l": "relative"}}, '$.links["/l"]'),
        ({"modes": {"/m": 1}}, '$.modes["/m"]'),
        ({"captured": {"links": {}}}, "$.captured.links"),
        ({"processes": {"a": [{"pid": 0, "name": "a", "command": []}]}}, "$.processes.a[0].pid"),
        ({"processes": {"a": [{"pid": 5, "name": "a", "command": [5]}]}}, "$.processes.a[0].command[0]"),
    ],
)
def test_a_sample_that_is_none(tmp_path: Path, sample: Any, place: str) -> None:
    with pytest.raises(CapturedJsonError) as caught:
        Replay(sample)
    assert caught.value.path == place
    assert str(caught.value).startswith(f"{place}: ")
    with pytest.raises(CapturedJsonError):
        write_tree(sample, str(tmp_path / "tree"))
    assert not (tmp_path / "tree").exists()


FILE = {"text": "x", "read_at_ns": None}


@pytest.mark.parametrize(
    "sample",
    [
        {"files": {"/../f": FILE}},
        {"files": {"f": FILE}},
        {"files": {"/a\0b": FILE}},
        {"files": {"/": FILE}},
        {"files": {"/captured/clock.json": FILE}},
        {"files": {"/a": FILE, "/a/b": FILE}},
        {"files": {"/" + "a/" * 200: FILE}},
        {"links": {"/a": "/b", "/b": "/a"}, "files": {"/a/f": FILE}},
        {"links": {"/a": "/../../etc"}},
        {"links": {"/": "/etc"}},
        {"links": {"/a": "/c"}, "files": {"/d": FILE}, "modes": {"/d/e": True}},
        {"captured": {"../x": {"value": 1}}},
    ],
)
def test_a_sample_that_is_no_tree(tmp_path: Path, sample: dict[str, Any]) -> None:
    with pytest.raises(CapturedJsonError):
        write_tree(sample, str(tmp_path / "tree"))
    assert not (tmp_path / "tree").exists()


def test_links_in_a_sample_lead_nowhere_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    sample = {"links": {"/a": str(outside), "/b/c": "/a"}, "files": {"/a/f": FILE, "/b/c/g": FILE}}
    write_tree(sample, str(tmp_path / "tree"))
    assert list(outside.iterdir()) == []
    assert (tmp_path / "tree" / str(outside)[1:] / "f").read_text() == "x"
    assert Sysroot(str(tmp_path / "tree")).read("/b/c/g").text == "x"


WORDS = st.sampled_from(["text", "error", "detail", "value", "read_at_ns", "pid", "absent", "\ud800", "\n"])
SCALARS = st.none() | st.booleans() | st.integers() | WORDS
JSON = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(WORDS, SCALARS, max_size=3)
PATHS = st.sampled_from(["/", "/a", "/a/b", "/a/b/c", "/..", "a", "/captured/x", "/a//b/", "\0"])
ANSWERS = JSON | st.fixed_dictionaries({"text": WORDS}) | st.lists(PATHS, max_size=3) | PATHS | st.just({"value": 1})
SAMPLES = st.dictionaries(
    st.sampled_from(["clock", "files", "directories", "links", "modes", "captured", "processes"]),
    st.dictionaries(PATHS, ANSWERS, max_size=4) | JSON,
)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])  # the box may be busy
@given(SAMPLES)
def test_any_json_is_a_sample_or_a_clear_error(tmp_path_factory: pytest.TempPathFactory, sample: Any) -> None:
    tree = tmp_path_factory.mktemp("any") / "tree"
    try:
        write_tree(sample, str(tree))
    except CapturedJsonError:
        assert not tree.exists()
        return
    for directory, _, files in os.walk(tree):
        assert Path(directory).is_relative_to(tree)
        for file in files:
            assert not Path(directory, file).is_symlink() or Path(directory, file).resolve().is_relative_to(tree)


def test_a_recording_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_CHARACTERS", 8)
    for name in ("a", "b"):
        (tmp_path / name).write_text("12345")
    kept = Recording(Sysroot(str(tmp_path)))

    assert [kept.read(f"/{name}").text for name in ("a", "b")] == ["12345", "12345"]
    assert kept.sample()["files"]["/a"]["text"] == "12345"
    assert kept.sample()["files"]["/b"]["error"] == "too-large"


def test_of_the_first_process_s_environment_only_the_kind_of_container_is_kept(tmp_path: Path) -> None:
    text = "PASSWORD=hunter2\0container=lxc\0TOKEN=abc\nxcontainer=no"
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/environ").write_text(text)
    recorded = Recording(Sysroot(str(tmp_path)))
    assert recorded.read("/proc/1/environ").text == text
    assert recorded.sample()["files"]["/proc/1/environ"]["text"] == "container=lxc"


def test_what_was_captured_of_a_tree_is_listed_again_and_is_no_directory_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "captured").mkdir()
    (tmp_path / "captured/domains.json").write_text('{"connections": []}')
    recording = Recording(Sysroot(str(tmp_path)))
    recording.captured("domains")
    with suppress(SourceError):
        recording.captured("links")

    assert recording.names("/captured") == ("domains.json",)
    sample = recording.sample()
    assert "/captured" not in sample["directories"]
    assert Replay(sample).names("/captured") == ("domains.json",)

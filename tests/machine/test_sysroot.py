"""Reads real trees, hostile ones among them, and the running machine."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tuneagent.machine import sysroot
from tuneagent.machine.reasons import source_error
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NOBODY = 65534


def put(root: Path, path: str, text: str = "x\n") -> Path:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def error(ask: Callable[[], object]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        ask()
    return caught.value


def test_reads_the_text_as_it_is(tmp_path: Path) -> None:
    put(tmp_path, "/proc/interrupts", "  CPU0\r\n\n 1: 2 last line without end")
    read = Sysroot(str(tmp_path)).read("/proc/interrupts")
    assert read.text == "  CPU0\r\n\n 1: 2 last line without end"
    assert read.read_at_ns is None


def test_bytes_that_are_no_utf8_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\xff\x00b\xc3\xa4")
    assert Sysroot(str(tmp_path)).read("/f").text == "a\\xff\x00bä"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/etc/secret", "inside"),
        ("../../../../../../../../etc/secret", "inside"),
        ("../etc/secret", "inside"),
        ("/loop/../etc/./secret", None),
    ],
)
def test_links_stay_inside_the_root(tmp_path: Path, target: str, expected: str | None) -> None:
    outside = put(tmp_path, "etc/secret", "outside")
    root = tmp_path / "root"
    put(root, "etc/secret", "inside")
    (root / "a").mkdir()
    (root / "a/link").symlink_to(target)
    assert outside.read_text() == "outside"
    source = Sysroot(str(root))
    if expected is None:
        assert error(lambda: source.read("/a/link")).reason is Reason.ABSENT
    else:
        assert source.read("/a/link").text == expected
    assert source.read("/../../etc/secret").text == "inside"


def test_a_link_to_a_directory_stays_inside(tmp_path: Path) -> None:
    put(tmp_path, "outside/file", "outside")
    root = tmp_path / "root"
    root.mkdir()
    (root / "up").symlink_to("../outside")
    (root / "absolute").symlink_to(str(tmp_path / "outside"))
    source = Sysroot(str(root))
    for path in ("/up", "/absolute"):
        assert error(lambda path=path: source.names(path)).reason is Reason.ABSENT  # type: ignore[misc]
        assert error(lambda path=path: source.read(f"{path}/file")).reason is Reason.ABSENT  # type: ignore[misc]
        assert error(lambda path=path: source.writable_mode(f"{path}/file")).reason is Reason.ABSENT  # type: ignore[misc]


def test_follows_links_as_sysfs_has_them(tmp_path: Path) -> None:
    nic = "/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0"
    put(tmp_path, f"{nic}/address", "52:54:00:12:34:56\n")
    (tmp_path / "sys/class/net").mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0").symlink_to(f"../../{nic.removeprefix('/sys/')}")
    (tmp_path / nic[1:] / "device").symlink_to("../../../virtio2")
    (tmp_path / nic[1:] / "../../driver").symlink_to("../../../../bus/virtio/drivers/virtio_net")
    source = Sysroot(str(tmp_path))
    assert source.read("/sys/class/net/eth0/address").text == "52:54:00:12:34:56\n"
    assert source.link("/sys/class/net/eth0") == nic
    assert source.link("/sys/class/net/eth0/device") == "/sys/devices/pci0000:00/0000:00:03.0/virtio2"
    assert source.link("/sys/class/net/eth0/device/driver") == "/sys/bus/virtio/drivers/virtio_net"
    assert source.names("/sys/class/net/eth0/device") == ("driver", "net")
    assert source.names("/sys/class/net/eth0/device/net/eth0/..") == ("eth0",)
    assert source.names("/") == ("sys",)


def test_a_link_that_is_none(tmp_path: Path) -> None:
    put(tmp_path, "/f")
    assert error(lambda: Sysroot(str(tmp_path)).link("/f")).reason is Reason.ABSENT
    assert error(lambda: Sysroot("/").link("/proc/stat")).reason is Reason.ABSENT


@pytest.mark.parametrize("links", [{"a": "b", "b": "a"}, {"a": "a"}, {"a": "a/a"}])
def test_loops_end(tmp_path: Path, links: dict[str, str]) -> None:
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    source = Sysroot(str(tmp_path))
    for ask in (source.read, source.names, source.link, source.writable_mode):
        caught = error(lambda ask=ask: ask("/a"))  # type: ignore[misc]
        assert (caught.reason, caught.detail) == (Reason.FAILED, os.strerror(errno.ELOOP))


def test_a_tree_too_deep_is_refused(tmp_path: Path) -> None:
    deep = "/d" * 200
    put(tmp_path, f"{deep}/f")
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert error(lambda: Sysroot(str(tmp_path)).read(f"{deep}/f")).reason is Reason.FAILED
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("root_is_live", [True, False])
def test_a_fifo_does_not_block(tmp_path: Path, *, root_is_live: bool) -> None:
    os.mkfifo(tmp_path / "fifo")
    source, path = (Sysroot("/"), str(tmp_path / "fifo")) if root_is_live else (Sysroot(str(tmp_path)), "/fifo")
    caught = error(lambda: source.read(path))
    assert (caught.reason, caught.detail) == (Reason.FAILED, "not a regular file")


def test_a_directory_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    assert error(lambda: Sysroot(str(tmp_path)).read("/d")).detail == os.strerror(errno.EISDIR)
    assert error(lambda: Sysroot("/").read("/proc")).detail == os.strerror(errno.EISDIR)


@pytest.mark.parametrize("root_is_live", [True, False])
def test_too_large(tmp_path: Path, *, root_is_live: bool) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(sysroot.MAX_FILE_BYTES + 1)
    source, path = (Sysroot("/"), str(tmp_path / "large")) if root_is_live else (Sysroot(str(tmp_path)), "/large")
    assert error(lambda: source.read(path)).reason is Reason.TOO_LARGE
    os.truncate(tmp_path / "large", sysroot.MAX_FILE_BYTES)
    assert len(source.read(path).text) == sysroot.MAX_FILE_BYTES


def test_absent(tmp_path: Path) -> None:
    put(tmp_path, "/f")
    source = Sysroot(str(tmp_path))
    caught = error(lambda: source.read("/proc/stat"))
    assert (caught.source, caught.reason, caught.detail) == ("/proc/stat", Reason.ABSENT, os.strerror(errno.ENOENT))
    assert error(lambda: source.read("/f/g")).reason is Reason.ABSENT
    assert error(lambda: source.names("/f")).reason is Reason.ABSENT
    assert error(lambda: Sysroot(str(tmp_path / "none")).read("/f")).reason is Reason.ABSENT


@pytest.mark.parametrize("path", ["/a\0b", "/\ud800"])
def test_what_is_no_path(tmp_path: Path, path: str) -> None:
    for source in (Sysroot("/"), Sysroot(str(tmp_path))):
        assert error(lambda source=source: source.read(path)).reason is Reason.FAILED  # type: ignore[misc]


def test_names_are_in_natural_order(tmp_path: Path) -> None:
    for name in ("rx-10", "rx-2", "tx-0", "rx-02", "10", "9", "a"):
        (tmp_path / name).mkdir()
    assert Sysroot(str(tmp_path)).names("/") == ("9", "10", "a", "rx-02", "rx-2", "rx-10", "tx-0")


def test_too_many_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysroot, "MAX_NAMES", 2)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert Sysroot(str(tmp_path)).names("/") == ("a", "b")
    (tmp_path / "c").mkdir()
    assert error(lambda: Sysroot(str(tmp_path)).names("/")).reason is Reason.TOO_LARGE


def test_writable_mode(tmp_path: Path) -> None:
    put(tmp_path, "/movable").chmod(0o644)
    put(tmp_path, "/managed").chmod(0o444)
    source = Sysroot(str(tmp_path))
    assert source.writable_mode("/movable") is True
    assert source.writable_mode("/managed") is False


def in_child_as_nobody(ask: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            ask()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("root_is_live", [True, False])
def test_permission_tells_who_could(tmp_path: Path, *, root_is_live: bool) -> None:
    put(tmp_path, "/closed").chmod(0)
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == os.geteuid() and directory.stat().st_mode & 0o005 != 0o005:
            directory.chmod(0o755)
    source, path = (Sysroot("/"), str(tmp_path / "closed")) if root_is_live else (Sysroot(str(tmp_path)), "/closed")

    def ask() -> None:
        caught = error(lambda: source.read(path))
        assert (caught.reason, caught.remedy) == (Reason.PERMISSION, "run as root")

    assert in_child_as_nobody(ask) == 0


def test_lockdown_is_not_cured_by_root() -> None:
    caught = source_error("/sys/kernel/debug/kvm", OSError(errno.EPERM, os.strerror(errno.EPERM)))
    assert (caught.reason, caught.remedy) == (Reason.PERMISSION, None)
    assert "lockdown" in caught.detail


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENODEV, Reason.ABSENT),
        (errno.ENXIO, Reason.ABSENT),
        (errno.EOPNOTSUPP, Reason.UNSUPPORTED),
        (errno.EINVAL, Reason.UNSUPPORTED),
        (errno.EIO, Reason.FAILED),
    ],
)
def test_reasons(number: int, reason: Reason) -> None:
    caught = source_error("/f", OSError(number, os.strerror(number)))
    assert (caught.reason, caught.detail) == (reason, os.strerror(number))


def test_captured(tmp_path: Path) -> None:
    put(tmp_path, "captured/queue-statistics.json", '{"eth0": [1, null]}')
    put(tmp_path, "captured/clock.json", '{"read_at_ns": {"queue-statistics": 17}}')
    source = Sysroot(str(tmp_path))
    assert source.captured("queue-statistics").value == {"eth0": [1, None]}
    assert source.captured("queue-statistics").read_at_ns == 17
    assert source.clock() is None
    caught = error(lambda: source.captured("links"))
    assert (caught.source, caught.reason) == ("links", Reason.NOT_CAPTURED)
    assert error(lambda: source.captured("../captured/clock")).reason is Reason.NOT_CAPTURED


@pytest.mark.parametrize("text", ["", "{", "[NaN]", "[" * 33 + "]" * 33, "[" * 200_000, "1" * 5000, "\0"])
def test_captured_that_is_no_json(tmp_path: Path, text: str) -> None:
    put(tmp_path, "captured/links.json", text)
    assert error(lambda: Sysroot(str(tmp_path)).captured("links")).reason is Reason.MALFORMED


def test_the_clock_of_a_capture(tmp_path: Path) -> None:
    clock = {"monotonic_ns": 5, "boottime_ns": 6, "realtime_ns": 7, "read_at_ns": {"/proc/stat": 4}}
    put(tmp_path, "captured/clock.json", json.dumps(clock))
    put(tmp_path, "proc/stat")
    put(tmp_path, "proc/other")
    source = Sysroot(str(tmp_path))
    assert source.clock() == Clock(5, 6, 7)
    assert source.read("/proc/stat").read_at_ns == 4
    assert source.read("/proc/other").read_at_ns is None


@pytest.mark.parametrize(
    "clock",
    [
        "[]",
        '{"monotonic_ns": 5}',
        '{"monotonic_ns": true, "boottime_ns": 6, "realtime_ns": 7}',
        '{"read_at_ns": []}',
        '{"read_at_ns": {"/f": -1}}',
        '{"read_at_ns": {"/f": 1.5}}',
    ],
)
def test_a_clock_that_is_none(tmp_path: Path, clock: str) -> None:
    put(tmp_path, "captured/clock.json", clock)
    put(tmp_path, "f")
    source = Sysroot(str(tmp_path))
    caught = error(source.clock)
    assert (caught.source, caught.reason) == ("/captured/clock.json", Reason.MALFORMED)
    assert caught.detail.startswith("$")
    assert source.read("/f").read_at_ns is None


def test_errors_of_the_capture_win(tmp_path: Path) -> None:
    put(tmp_path, "f")
    put(tmp_path, "g")
    recorded = {"files": {"/f": {"error": "permission", "detail": "no", "remedy": "run as root"}, "/g": {"error": "?"}}}
    put(tmp_path, "captured/errors.json", json.dumps(recorded))
    source = Sysroot(str(tmp_path))
    caught = error(lambda: source.read("/f"))
    assert (caught.reason, caught.detail, caught.remedy) == (Reason.PERMISSION, "no", "run as root")
    assert error(lambda: source.read("/g")).reason is Reason.MALFORMED
    assert source.writable_mode("/f") is True


def test_the_running_machine() -> None:
    source = Sysroot("/")
    before = source.clock()
    read = source.read("/proc/interrupts")
    after = source.clock()
    assert "CPU0" in read.text
    assert before is not None
    assert after is not None
    assert read.read_at_ns is not None
    assert before.monotonic_ns <= read.read_at_ns <= after.monotonic_ns
    assert set(source.names("/sys/class/net")) == {entry.name for entry in Path("/sys/class/net").iterdir()}
    assert source.link("/proc/self/root") == "/"
    assert error(lambda: source.captured("links")).reason is Reason.NOT_CAPTURED
    assert error(lambda: source.read("/sys/class/net/lo/speed")).reason in (Reason.UNSUPPORTED, Reason.FAILED)


def test_a_list_of_errors_that_is_no_good_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "captured").mkdir()
    (tmp_path / "captured" / "errors.json").write_text("[]")
    asked: list[str] = []

    def decode(text: str) -> object:
        asked.append(text)
        return json.loads(text)

    monkeypatch.setattr(sysroot, "decode", decode)
    tree = Sysroot(str(tmp_path))

    for path in ("/proc/interrupts", "/proc/stat", "/proc/softirqs"):
        with pytest.raises(SourceError, match=r"captured/errors\.json"):
            tree.read(path)

    assert asked == ["[]"]

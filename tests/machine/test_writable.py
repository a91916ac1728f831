"""Writes real files, hostile trees and files of the running kernel."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tuneagent.machine import writable
from tuneagent.machine.writable import NEW, WritableRoot

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def put(root: Path, path: str, text: str) -> Path:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def error(act: Callable[[], object]) -> OSError:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is what the caller looks at
        act()
    return caught.value


@pytest.mark.parametrize("old", ["", "f\n", "ffffffff,ffffffff\n"])
def test_a_value_takes_the_place_of_any_other(tmp_path: Path, old: str) -> None:
    file = put(tmp_path, "proc/irq/38/smp_affinity", old)
    WritableRoot(str(tmp_path)).write_value("/proc/irq/38/smp_affinity", "c\n")
    assert file.read_text() == "c\n"


def test_the_value_is_handed_over_in_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "value", "1\n")
    writes: list[bytes] = []
    real = os.write

    def write(fd: int, data: bytes) -> int:
        writes.append(data)
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    WritableRoot(str(tmp_path)).write_value("/value", "0-1023,2048\n")
    assert writes == [b"0-1023,2048\n"]


def test_the_running_kernel_takes_a_value_and_refuses_another() -> None:
    root = WritableRoot()
    root.write_value("/proc/self/comm", "a-thread")
    try:
        assert root.read_bytes("/proc/self/comm", 16) == b"a-thread\n"
        refused = error(lambda: root.write_value("/proc/self/oom_score_adj", "100000\n"))
        assert refused.errno == errno.EINVAL
        assert refused.filename == "/proc/self/oom_score_adj"
    finally:
        root.write_value("/proc/self/comm", "python")


def test_a_short_write_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "value", "1\n")
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:2]))
    assert error(lambda: WritableRoot(str(tmp_path)).write_value("/value", "0-15\n")).errno == errno.EIO


def test_an_error_at_close_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path, "value", "1\n")
    inode, real = file.stat().st_ino, os.close

    def close(fd: int) -> None:
        failing = os.fstat(fd).st_ino == inode
        real(fd)
        if failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "close", close)
    assert error(lambda: WritableRoot(str(tmp_path)).write_value("/value", "2\n")).errno == errno.EIO


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("/absent", "1\n", errno.ENOENT),
        ("/absent/too", "1\n", errno.ENOENT),
        ("/value/below", "1\n", errno.ENOTDIR),
        ("/", "1\n", errno.EISDIR),
        ("/directory", "1\n", errno.EISDIR),
        ("/pipe", "1\n", errno.EBADF),
        ("/loop", "1\n", errno.ELOOP),
        ("value", "1\n", errno.EINVAL),
        ("/val\0ue", "1\n", errno.EINVAL),
        ("/val\udc80ue", "1\n", errno.ENOENT),
        ("/val\ud800ue", "1\n", errno.EINVAL),
        ("/value", "\ud800", errno.EINVAL),
        ("/value", "", errno.EINVAL),
    ],
)
def test_what_cannot_be_written_is_an_os_error_and_makes_no_file(
    tmp_path: Path, path: str, text: str, expected: int
) -> None:
    put(tmp_path, "value", "1\n")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.iterdir())
    root = WritableRoot(str(tmp_path))
    assert error(lambda: root.write_value(path, text)).errno == expected
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "value").read_text() == "1\n"


@pytest.mark.parametrize("target", ["/etc/secret", "../../../../../../etc/secret"])
def test_no_link_leads_out_of_the_root(tmp_path: Path, target: str) -> None:
    outside = put(tmp_path, "etc/secret", "outside")
    inside = put(tmp_path, "root/etc/secret", "inside")
    (tmp_path / "root/link").symlink_to(target)
    root = WritableRoot(str(tmp_path / "root"))
    root.write_value("/link", "written")
    assert (outside.read_text(), inside.read_text()) == ("outside", "written")
    root.replace("/link", b"replaced")
    assert (outside.read_text(), inside.read_text()) == ("outside", "replaced")
    assert (tmp_path / "root/link").is_symlink()


def test_a_link_without_its_target_makes_no_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("absent")
    assert error(lambda: WritableRoot(str(tmp_path)).write_value("/link", "1\n")).errno == errno.ENOENT
    assert not (tmp_path / "absent").exists()


def test_reads_up_to_a_bound(tmp_path: Path) -> None:
    put(tmp_path, "conf", "abcdef")
    root = WritableRoot(str(tmp_path))
    assert root.read_bytes("/conf", 6) == b"abcdef"
    assert error(lambda: root.read_bytes("/conf", 5)).errno == errno.EFBIG
    os.mkfifo(tmp_path / "pipe")
    assert error(lambda: root.read_bytes("/pipe", 5)).errno == errno.EBADF


def test_replaces_the_bytes_and_keeps_mode_and_attributes(tmp_path: Path) -> None:
    file = put(tmp_path, "etc/default/irqbalance", "OLD=1\n")
    file.chmod(0o4641)
    os.setxattr(file, "user.note", b"kept")
    before = file.stat()
    WritableRoot(str(tmp_path)).replace("/etc/default/irqbalance", b"NEW=\xff\r\n")
    assert file.read_bytes() == b"NEW=\xff\r\n"
    assert file.stat().st_ino != before.st_ino
    assert file.stat().st_mode == before.st_mode
    assert os.getxattr(file, "user.note") == b"kept"
    assert [path.name for path in file.parent.iterdir()] == ["irqbalance"]


@AS_ROOT
def test_replaces_and_keeps_owner_acl_and_label(tmp_path: Path) -> None:
    file = put(tmp_path, "conf", "old")
    os.chown(file, 1234, 2345)
    acl = bytes.fromhex("02000000 01000600ffffffff 02000400d2040000 04000400ffffffff 10000400ffffffff 20000000ffffffff")
    os.setxattr(file, "system.posix_acl_access", acl)
    os.setxattr(file, "trusted.note", b"kept too")
    WritableRoot(str(tmp_path)).replace("/conf", b"new")
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 2345)
    assert os.getxattr(file, "system.posix_acl_access") == acl
    assert os.getxattr(file, "trusted.note") == b"kept too"


@AS_ROOT
def test_a_signature_of_the_old_content_is_not_put_on_the_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path, "conf", "old")
    os.setxattr(file, "user.ima", b"signature")
    monkeypatch.setattr(writable, "NOT_CARRIED_OVER", frozenset({"user.ima"}))
    WritableRoot(str(tmp_path)).replace("/conf", b"new")
    assert os.listxattr(file) == []


def test_a_replacement_that_fails_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path, "conf", "old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert error(lambda: WritableRoot(str(tmp_path)).replace("/conf", b"new")).errno == errno.ENOSPC
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_what_a_dead_writer_left_is_in_nobodys_way(tmp_path: Path) -> None:
    file = put(tmp_path, "conf", "old")
    beside = put(tmp_path, "conf" + NEW, "half")
    root = WritableRoot(str(tmp_path))
    root.tidy("/conf")
    assert list(tmp_path.iterdir()) == [file]
    root.tidy("/conf")
    beside.symlink_to(put(tmp_path, "elsewhere", "untouched"))
    root.replace("/conf", b"new")
    assert file.read_text() == "new"
    assert not file.is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "untouched"


def test_readers_see_the_old_or_the_new_and_nothing_between(tmp_path: Path) -> None:
    file = put(tmp_path, "conf", "a" * 4096)
    root, seen, done = WritableRoot(str(tmp_path)), set[str](), threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(file.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(10):
        root.replace("/conf", ("ba"[turn % 2] * 4096).encode())
    done.set()
    reader.join()
    assert seen <= {"a" * 4096, "b" * 4096}


@pytest.mark.parametrize("root", ["/", "//", "///"])
def test_the_machine_itself_is_told_from_a_tree(root: str, tmp_path: Path) -> None:
    assert WritableRoot(root).live
    assert not WritableRoot(str(tmp_path)).live


def test_leaves_no_descriptor_open(tmp_path: Path) -> None:
    put(tmp_path, "etc/conf", "old")
    root = WritableRoot(str(tmp_path))
    before = descriptors()
    root.write_value("/etc/conf", "new")
    root.replace("/etc/conf", b"newer")
    root.read_bytes("/etc/conf", 10)
    error(lambda: root.write_value("/etc/absent", "x"))
    assert descriptors() == before


def test_an_end_before_a_longer_value_of_a_tree_is_cut_leaves_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "value").write_text("0-31\n")

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "ftruncate", end)
    with pytest.raises(KeyboardInterrupt):
        WritableRoot(str(tmp_path)).write_value("/value", "1\n")
    assert (tmp_path / "value").read_text().strip() == "1"

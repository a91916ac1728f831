"""Real directories, hostile ones among them, real locks of other processes, and a really full disk."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tuneagent.machine import state_directory
from tuneagent.machine.state_directory import LockHeldError, StateDirectory, UntrustedError

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
NOBODY = 65534
HOLD = """
import sys
from tuneagent.machine.state_directory import StateDirectory
lock = StateDirectory(sys.argv[1]).lock()
print("held", flush=True)
sys.stdin.read()
"""


def error(act: Callable[[], object]) -> OSError:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is what the caller looks at
        act()
    return caught.value


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(name="state")
def made(tmp_path: Path) -> StateDirectory:
    state = StateDirectory(str(tmp_path / "var/lib/tuneagent"))
    state.append("00000001.journal", b"one\n", durable=True)
    return state


def test_keeps_what_was_appended(state: StateDirectory) -> None:
    state.append("00000001.journal", b"two\n", durable=False)
    state.append("00000002.journal", b"\xff\x00", durable=True)
    assert state.read("00000001.journal") == b"one\ntwo\n"
    assert state.read("00000002.journal") == b"\xff\x00"
    assert state.names() == ("00000001.journal", "00000002.journal")
    state.remove("00000001.journal")
    assert state.names() == ("00000002.journal",)


def test_a_new_file_is_none_that_is_there(state: StateDirectory) -> None:
    state.append("00000007.journal", b"one\n", durable=True, new=True)
    state.append("00000007.journal", b"two\n", durable=True)
    assert error(lambda: state.append("00000007.journal", b"three\n", durable=True, new=True)).errno == errno.EEXIST
    assert state.read("00000007.journal") == b"one\ntwo\n"


def test_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        state = StateDirectory(str(tmp_path / "state"))
        state.append("00000001.journal", b"one\n", durable=True)
        state.lock().release()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state").iterdir()} == {0o600}


def test_reading_makes_no_directory(tmp_path: Path) -> None:
    state = StateDirectory("/var/lib/tuneagent", root=str(tmp_path))
    assert state.names() == ()
    assert error(lambda: state.read("00000001.journal")).errno == errno.ENOENT
    assert error(lambda: state.remove("00000001.journal")).errno == errno.ENOENT
    assert list(tmp_path.iterdir()) == []


def test_lies_below_a_tree_and_never_beside_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "var").symlink_to("/elsewhere")
    (tree / "elsewhere").mkdir()
    state = StateDirectory(root=str(tree))
    state.append("00000001.journal", b"one\n", durable=True)
    assert (tree / "elsewhere/lib/tuneagent/00000001.journal").read_bytes() == b"one\n"
    assert state.path == f"{tree}/var/lib/tuneagent"


def test_what_is_durable_was_synced_with_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = StateDirectory(str(tmp_path / "state"))
    state.lock().release()
    synced: list[str] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink().name)
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    state.append("00000001.journal", b"one\n", durable=True)
    assert synced == ["00000001.journal", "state"]
    state.append("00000001.journal", b"two\n", durable=True)
    assert synced[2:] == ["00000001.journal"]
    state.append("00000001.journal", b"three\n", durable=False)
    assert synced[3:] == []
    state.remove("00000001.journal")
    assert synced[3:] == ["state"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "x" * 65, "A", "a\n", "a\0b", "lock", "\udc80"]
)
def test_other_names_are_nobodys(state: StateDirectory, name: str) -> None:
    for act in (
        lambda: state.append(name, b"x", durable=False),
        lambda: state.read(name),
        lambda: state.remove(name),
        lambda: state.cut(name, 0),
    ):
        assert error(act).errno == errno.EINVAL
    assert state.names() == ("00000001.journal",)


def test_names_are_those_of_its_own_files_and_bounded(state: StateDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    state.lock().release()
    for name in ("00000001.journal~", ".swp", "README", "x" * 65):
        (Path(state.path) / name).touch()
    assert state.names() == ("00000001.journal",)
    monkeypatch.setattr(state_directory, "MOST_NAMES", 5)
    assert error(state.names).errno == errno.E2BIG


def test_reads_up_to_a_bound(state: StateDirectory) -> None:
    assert state.read("00000001.journal", 4) == b"one\n"
    refused = error(lambda: state.read("00000001.journal", 3))
    assert (refused.errno, refused.filename) == (errno.EFBIG, f"{state.path}/00000001.journal")


def everything(state: StateDirectory) -> Iterator[Callable[[], object]]:
    yield state.lock
    yield state.names
    yield lambda: state.append("00000001.journal", b"x", durable=False)
    yield lambda: state.read("00000001.journal")
    yield lambda: state.cut("00000001.journal", 0)
    yield lambda: state.remove("00000001.journal")


def as_link(directory: Path) -> None:
    directory.rename(directory.with_name("real"))
    directory.symlink_to("real")


def as_file(directory: Path) -> None:
    directory.rename(directory.with_name("real"))
    directory.touch()


def as_pipe(directory: Path) -> None:
    directory.rename(directory.with_name("real"))
    os.mkfifo(directory)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (as_link, "not a directory"),
        (as_file, "not a directory"),
        (as_pipe, "not a directory"),
        (lambda path: path.chmod(0o720), "others than its owner"),
        (lambda path: path.chmod(0o1777), "others than its owner"),
        pytest.param(lambda path: os.chown(path, NOBODY, 0), f"belongs to user {NOBODY}", marks=AS_ROOT),
    ],
)
def test_a_directory_of_others_is_refused(state: StateDirectory, spoil: Callable[[Path], None], words: str) -> None:
    spoil(Path(state.path))
    for act in everything(state):
        refused = error(act)
        assert isinstance(refused, UntrustedError)
        assert words in str(refused)
        assert refused.filename == state.path


def planted(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def spoil(journal: Path) -> None:
        journal.unlink()
        make(journal)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (planted(os.mkfifo), "not a regular file"),
        (planted(lambda path: path.mkdir()), "not a regular file"),
        (planted(lambda path: path.symlink_to("/etc/hostname")), "not a regular file"),
        (planted(lambda path: path.symlink_to("absent")), "not a regular file"),
        (lambda path: path.chmod(0o620), "others than its owner"),
        (lambda path: path.chmod(0o602), "others than its owner"),
        (lambda path: path.with_name("second").hardlink_to(path), "further hard link"),
        pytest.param(lambda path: os.chown(path, NOBODY, 0), f"belongs to user {NOBODY}", marks=AS_ROOT),
    ],
)
def test_a_file_of_others_is_refused(state: StateDirectory, spoil: Callable[[Path], None], words: str) -> None:
    journal = Path(state.path) / "00000001.journal"
    spoil(journal)
    for act in (
        lambda: state.append("00000001.journal", b"x", durable=False),
        lambda: state.read("00000001.journal"),
        lambda: state.cut("00000001.journal", 0),
    ):
        refused = error(act)
        assert isinstance(refused, UntrustedError)
        assert words in str(refused)
        assert refused.filename == str(journal)
    assert not (journal.parent / "absent").exists()


def test_the_lock_itself_is_looked_at(state: StateDirectory) -> None:
    os.mkfifo(Path(state.path) / "lock")
    assert isinstance(error(state.lock), UntrustedError)


def test_one_writer_at_a_time(state: StateDirectory) -> None:
    with holder(Path(state.path)) as other:
        refused = error(state.lock)
        assert isinstance(refused, LockHeldError)
        assert refused.pid == other.pid
        assert str(other.pid) in str(refused)
        assert state.names() == ("00000001.journal",)
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        with state.lock() as lock:
            assert lock.fileno() >= 0
            assert isinstance(error(state.lock), LockHeldError)
        assert lock.fileno() == -1
        lock.release()
    state.lock().release()


def test_a_child_that_kept_the_descriptor_keeps_nobody_out_after_the_release(state: StateDirectory) -> None:
    lock = state.lock()
    copy = os.dup(lock.fileno())
    try:
        lock.release()
        state.lock().release()
    finally:
        os.close(copy)


def test_a_program_that_is_executed_does_not_get_the_lock(state: StateDirectory) -> None:
    with state.lock() as lock:
        assert not os.get_inheritable(lock.fileno())


@pytest.mark.parametrize("text", ["", "many words\n", "-5\n", "9" * 400])
def test_a_holder_that_says_nonsense_is_another_process(state: StateDirectory, text: str) -> None:
    with state.lock():
        (Path(state.path) / "lock").write_text(text)
        refused = error(state.lock)
    assert isinstance(refused, LockHeldError)
    assert refused.pid is None


def test_takes_the_half_record_of_a_dead_writer_away(state: StateDirectory) -> None:
    state.append("00000001.journal", b"two\nthr", durable=False)
    state.cut("00000001.journal", 8)
    assert state.read("00000001.journal") == b"one\ntwo\n"
    state.cut("00000001.journal", 100)
    assert state.read("00000001.journal") == b"one\ntwo\n"


def test_a_record_that_does_not_fit_leaves_no_half_of_it(state: StateDirectory) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6, hard))
    try:
        refused = error(lambda: state.append("00000001.journal", b"two\n", durable=True))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert refused.errno == errno.EFBIG
    assert state.read("00000001.journal") == b"one\n"


def test_leaves_no_descriptor_open(state: StateDirectory) -> None:
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for act in everything(state):
        kept = act()
        if isinstance(kept, state_directory.Lock):
            error(state.lock)
            kept.release()
    error(lambda: state.read("00000009.journal"))
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before


@pytest.mark.parametrize("path", ["/val\0ue", "/x\ud800"])
def test_an_impossible_path_is_an_error_with_it(path: str) -> None:
    assert error(lambda: StateDirectory(path).lock()).errno == errno.EINVAL

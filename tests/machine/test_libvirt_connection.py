"""Connections to libvirt: its own test driver, and daemons that are absent, hang, or hang up."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.machine.bindings import needs_libvirt
from tuneagent.machine import libvirt_connection
from tuneagent.machine.libvirt_connection import Connection, Connections, Patience, default_uris, none_answered
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

TEST = "test:///default"


def refused(connection: Connection, question: Any = lambda it: it.getType()) -> SourceError:
    with pytest.raises(SourceError) as caught:
        connection.ask(question)
    return caught.value


@needs_libvirt
def test_an_answer_comes_from_the_connections_own_thread() -> None:
    connection = Connection(TEST)
    assert connection.ask(lambda it: (it.getType(), threading.current_thread().name)) == ("TEST", "libvirt")
    connection.close()


@needs_libvirt
def test_a_connection_is_kept_and_may_be_asked_again_after_its_end() -> None:
    connection = Connection(TEST)
    first = connection.ask(id)
    assert connection.ask(id) == first
    connection.close()
    assert connection.ask(lambda it: it.isAlive()) == 1
    connection.close()


@needs_libvirt
def test_a_read_only_connection_changes_nothing() -> None:
    def suspend(it: Any) -> None:
        it.lookupByName("test").suspend()

    error = refused(Connection(TEST), suspend)
    assert error.reason is Reason.PERMISSION
    Connection(TEST, read_only=False).ask(suspend)


@needs_libvirt
def test_a_mistake_in_a_question_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        Connection(TEST).ask(lambda _: 1 // 0)


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """A daemon that takes connections and says nothing; its URI."""
    with socket.socket(socket.AF_UNIX) as listener:
        path = tmp_path / "libvirt-sock"
        listener.bind(str(path))
        listener.listen()
        yield f"qemu+unix:///system?socket={path}", listener


@needs_libvirt
def test_a_daemon_that_hangs_keeps_nobody(silent: tuple[str, socket.socket]) -> None:
    uri, listener = silent
    connection = Connection(uri, timeout_s=0.2)
    error = refused(connection)
    assert (error.source, error.reason) == (uri, Reason.FAILED)
    assert error.detail == "libvirt did not answer within 0.2 s"
    threads = threading.active_count()
    assert refused(connection).detail == error.detail
    assert threading.active_count() == threads  # what hangs is asked nothing more
    accepted, _ = listener.accept()
    accepted.close()
    listener.close()
    while refused(connection).reason is Reason.FAILED:
        threading.Event().wait(0.05)  # pytest's own timeout ends it
    assert refused(connection).reason is Reason.ABSENT


@needs_libvirt
def test_who_is_interrupted_while_waiting_is_not_kept_by_the_end(
    silent: tuple[str, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[float | None] = []
    monkeypatch.setattr(threading.Thread, "join", lambda _, timeout=None: joined.append(timeout))
    connection = Connection(silent[0])
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        connection.ask(id)
    connection.close()
    assert joined == []


@needs_libvirt
def test_daemons_that_hang_use_up_one_patience_and_the_one_that_answers_is_heard(
    silent: tuple[str, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libvirt_connection, "GRACE_S", 0.1)
    uris = [f"{silent[0]}&number={number}" for number in range(3)]
    patience = Patience(0.4)
    hanging = Connections(uris, patience=patience)
    details = [refused(one).detail for one in hanging.all()]
    hanging.close()
    assert details[0] == "libvirt did not answer within 0.4 s"
    assert details[1:] == ["libvirt did not answer within 0.1 s"] * 2  # each its own grace, and no more
    monkeypatch.undo()
    answering = Connection(TEST, patience=patience)
    assert answering.ask(lambda it: it.getType()) == "TEST"
    answering.close()


def test_patience_comes_back_slowly() -> None:
    now = 100.0
    patience = Patience(12.0, lambda: now)
    patience.spend(9.0)
    assert patience.left_s() == 3.0
    patience.spend(50.0)
    assert patience.left_s() == 0.0
    now += 30.0
    assert patience.left_s() == pytest.approx(3.0)
    now += 3000.0
    assert patience.left_s() == 12.0


@needs_libvirt
def test_a_daemon_that_hangs_does_not_keep_the_interpreter(silent: tuple[str, socket.socket]) -> None:
    code = (
        "import sys\n"
        "from tuneagent.machine.libvirt_connection import *\n"
        "connection = Connection(sys.argv[1], timeout_s=0.2)\n"
        "try:\n connection.ask(id)\n"
        "except SourceError as error:\n print(error.detail)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, silent[0]], check=False, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"libvirt did not answer within 0.2 s\n")
    assert done.stderr == b""


@needs_libvirt
def test_a_daemon_that_hangs_up(silent: tuple[str, socket.socket]) -> None:
    uri, listener = silent

    def accept() -> None:
        listener.accept()[0].close()

    accepting = threading.Thread(target=accept)
    accepting.start()
    error = refused(Connection(uri))
    accepting.join()
    assert error.reason is Reason.FAILED
    assert "\n" not in error.detail


@needs_libvirt
@pytest.mark.parametrize("bound", [False, True], ids=["no socket", "nobody listens"])
def test_no_daemon(tmp_path: Path, capfd: pytest.CaptureFixture[str], *, bound: bool) -> None:
    path = tmp_path / "libvirt-sock"
    if bound:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
    error = refused(Connection(f"qemu+unix:///system?socket={path}"))
    assert (error.reason, error.remedy) == (Reason.ABSENT, libvirt_connection.START)
    assert capfd.readouterr() == ("", "")  # libvirt's own error handler would print


@needs_libvirt
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_daemon_of_others(tmp_path: Path) -> None:
    path = tmp_path / "libvirt-sock"
    code = (
        "import os, sys\n"
        "from tuneagent.machine.libvirt_connection import *\n"
        "bindings()\n"
        "os.setuid(65534)\n"
        "try:\n Connection(sys.argv[1]).ask(id)\n"
        "except SourceError as error:\n print(error.reason, error.remedy)\n"
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o700)
        uri = f"qemu+unix:///system?socket={path}"
        done = subprocess.run([sys.executable, "-c", code, uri], check=False, capture_output=True, timeout=60)
    assert done.stdout.decode() == f"permission {libvirt_connection.BECOME}\n"


def test_without_libvirt_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libvirt", None)
    error = refused(Connection(TEST))
    assert (error.reason, error.detail) == (Reason.ABSENT, "libvirt-python is not installed")
    assert error.remedy is not None
    assert "pip install libvirt-python" in error.remedy


def test_libvirt_python_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libvirt.py").write_text("raise ImportError('libvirt.so.0: cannot open shared object file')")
    monkeypatch.delitem(sys.modules, "libvirt", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    error = refused(Connection(TEST))
    assert error.reason is Reason.ABSENT
    assert "libvirt.so.0: cannot open" in error.detail


def test_a_session_is_asked_where_it_runs_and_of_a_plain_user_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert default_uris() == ("qemu:///system",)
    (tmp_path / "libvirt").mkdir()
    (tmp_path / "libvirt/virtqemud-sock").touch()
    assert default_uris() == ("qemu:///system", "qemu:///session")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert default_uris() == ("qemu:///system",)


def test_uris_given_are_asked_once_each() -> None:
    connections = Connections(("test:///b", "test:///a", "test:///b"))
    assert [one.uri for one in connections.all()] == ["test:///b", "test:///a"]
    assert connections.all() == connections.all()
    connections.close()


def test_several_failures_are_one() -> None:
    first = SourceError("qemu:///system", Reason.PERMISSION, "no", "run as root")
    second = SourceError("qemu:///session", Reason.ABSENT, "none")
    error = none_answered("domains", [first, second])
    assert str(error) == "domains: qemu:///system: no; qemu:///session: none"
    assert (error.reason, error.remedy) == (Reason.PERMISSION, "run as root")


def test_a_message_of_others_is_one_short_line() -> None:
    said = libvirt_connection.one_line("a\x1b[31m\n\tb" + "c" * 300)
    assert said.startswith("a [31m b")
    assert len(said) == libvirt_connection.MOST_DETAIL

"""Real parents that are really killed, and what their guardians do then."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tuneagent.machine.guardian import NAME, Guardian

REPOSITORY = Path(__file__).parents[2]
PATIENCE_S = 60.0
GUARDED = """
import ctypes, fcntl, gc, os, resource, signal, sys, threading, time
from tuneagent.machine.guardian import Guardian
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
TOLD = 'cut -d" " -f1 /proc/uptime >> "$0"; readlink /proc/$$/fd/0 /proc/$$/cwd >> "$0"'
COMMAND = ["/bin/sh", "-c", TOLD, sys.argv[2]]
"""


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


class Case:
    """One parent: its lock, what its guardian's command writes, and the guardian itself."""

    def __init__(self, directory: Path) -> None:
        self.lock, self.ran = directory / "lock", directory / "ran"

    @contextmanager
    def parent(self, body: str, *options: str) -> Iterator[subprocess.Popen[str]]:
        script = GUARDED + body
        command = [sys.executable, *options, "-c", script, str(self.lock), str(self.ran)]
        with subprocess.Popen(
            command,
            cwd=REPOSITORY,
            text=True,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                yield process
            finally:
                process.kill()
                for each in self.guardians():
                    each.kill()

    def say(self, body: str, *options: str) -> str:
        """What a parent prints that ends by itself."""
        with self.parent(body, *options) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, err
            until(lambda: not self.guardians())
            return out

    def guardians(self) -> list[psutil.Process]:
        """Those that still wait. A zombie has no command line: it is its parent's business by then."""
        every = psutil.process_iter(["name", "cmdline"])
        named = (process for process in every if process.info["name"] == NAME)
        return [process for process in named if str(self.lock) in (process.info["cmdline"] or ())]

    def has_run_once(self) -> bool:
        """Waits for the command and for the end of its process, after which it cannot run again."""
        until(lambda: self.ran.exists() and self.ran.read_text().count("\n") >= 3)
        until(lambda: not self.guardians())
        return self.ran.read_text().count("\n") == 3

    def lock_is_free(self) -> bool:
        with self.lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


WAITING = "guardian = Guardian(COMMAND)\nprint('ready', flush=True)\ntime.sleep(600)\n"


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()[1]


@pytest.mark.parametrize("whole_group", [False, True])
def test_a_parent_that_is_killed(case: Case, *, whole_group: bool) -> None:
    with case.parent(WAITING) as process:
        ready(process)
        assert not case.lock_is_free()
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
        assert case.has_run_once()
        assert case.lock_is_free()
        assert case.ran.read_text().splitlines()[1:] == ["/dev/null", "/"]


def test_a_parent_that_ends_without_a_word(case: Case) -> None:
    case.say("guardian = Guardian(COMMAND)\nguardian.close()\n")
    assert case.has_run_once()


def test_a_parent_with_a_thread_stuck_in_a_call(case: Case) -> None:
    # What fails while another thread is there fails as an error: Python 3.12 warns of such a fork.
    stuck = "threading.Thread(target=ctypes.CDLL(None).pause, daemon=True).start()\n"
    with case.parent(stuck + WAITING, "-W", "error") as process:
        ready(process)
        process.kill()
        assert case.has_run_once()


def test_a_guardian_that_is_made_by_another_thread(case: Case) -> None:
    body = """
made = []
one = threading.Thread(target=lambda: made.append(Guardian(COMMAND)))
one.start()
one.join()
print('ready', flush=True)
time.sleep(600)
"""
    with case.parent(body) as process:
        ready(process)
        process.kill()
        assert case.has_run_once()


def test_released(case: Case) -> None:
    case.say("guardian = Guardian(COMMAND)\nguardian.release()\n")
    assert not case.ran.exists()


def test_released_after_it_was_kept(case: Case) -> None:
    case.say(
        "guardian = Guardian(COMMAND)\n"
        "guardian.keep_until(time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 3600 * 10**9)\n"
        "guardian.release()\n"
    )
    assert not case.ran.exists()


def test_kept_until_a_moment_after_its_parents_end(case: Case) -> None:
    moment = case.say(
        "guardian = Guardian(COMMAND)\n"
        "moment = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 300_000_000\n"
        "guardian.keep_until(moment)\n"
        "guardian.close()\n"
        "print(moment)\n"
    )
    assert case.has_run_once()
    # /proc/uptime is CLOCK_BOOTTIME, cut to hundredths.
    assert float(case.ran.read_text().split()[0]) >= int(moment) / 1e9 - 0.01


def test_a_moment_comes_while_the_parent_still_runs(case: Case) -> None:
    kept = "guardian.keep_until(time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 1)\n"
    with case.parent("guardian = Guardian(COMMAND)\n" + kept + "time.sleep(600)\n") as process:
        assert case.has_run_once()
        assert process.poll() is None


BOTH = """
moment = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 3 * 10**9
guardian = Guardian(COMMAND, again_ns=moment)
print(moment, flush=True)
time.sleep(600)
"""


def test_a_parent_that_is_killed_before_it_could_name_the_moment(case: Case) -> None:
    with case.parent(BOTH) as process:
        assert process.stdout is not None
        moment = int(process.stdout.readline())
        process.kill()
        until(lambda: case.ran.exists() and case.ran.read_text().count("\n") >= 6)
        until(lambda: not case.guardians())
    first, *_, last = (line for line in case.ran.read_text().splitlines() if not line.startswith("/"))
    assert case.ran.read_text().count("\n") == 6
    assert float(first) <= float(last)
    assert float(last) >= moment / 1e9 - 0.01


def test_a_parent_that_is_killed_after_the_moment(case: Case) -> None:
    with case.parent(WAITING.replace("COMMAND", "COMMAND, again_ns=1")) as process:
        ready(process)
        (guardian,) = case.guardians()
        assert guardian.is_running(), "while its parent lives, a moment that nobody kept means nothing"
        assert not case.ran.exists()
        process.kill()
        assert case.has_run_once()


def test_nothing_is_run_at_once_where_the_moment_was_named(case: Case) -> None:
    case.say(
        "moment = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 300_000_000\n"
        "guardian = Guardian(COMMAND, again_ns=moment)\n"
        "guardian.keep_until(moment)\n"
    )
    assert case.has_run_once()


KEPT = """
def handler_of_the_parent(*_):
    with open(sys.argv[2], "w") as file:
        file.write("here")
signal.signal(signal.SIGTERM, handler_of_the_parent)
guardian = Guardian(COMMAND)
guardian.keep_until(time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 3600 * 10**9)
print('ready', flush=True)
sys.stdin.readline()
"""


def test_what_a_guardian_holds_and_what_it_ignores(case: Case) -> None:
    with case.parent(KEPT) as process:
        ready(process)
        parent = os.getsid(process.pid)
        process.communicate("end\n", timeout=PATIENCE_S)
        (guardian,) = case.guardians()
        assert case.lock_is_free()
        links = sorted(str(each.readlink()) for each in Path(f"/proc/{guardian.pid}/fd").iterdir())
        assert links[:3] == ["/dev/null"] * 3
        assert [link.split(":")[0] for link in links[3:]] == ["socket"]
        assert guardian.cwd() == "/"
        assert os.getsid(guardian.pid) not in {parent, guardian.pid}, "it could get a terminal"
        assert guardian.terminal() is None
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
            guardian.send_signal(number)
        until(lambda: _pending(guardian) == 0)
        assert guardian.is_running()
        assert guardian.name() == NAME
    assert not case.ran.exists()


def _pending(process: psutil.Process) -> int:
    fields = dict(line.split(":\t") for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
    return int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16) | int(fields["SigBlk"], 16)


def test_two_hundred_in_a_row_leave_nothing(case: Case) -> None:
    said = case.say("""
def left():
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        return len(os.listdir("/proc/self/fd")), children.read()
before = left()
for _ in range(200):
    guardian = Guardian(COMMAND)
    guardian.release()
print(before == left(), left()[1] == "")
""")
    assert said == "True True\n"
    assert not case.ran.exists()


def test_a_parent_that_has_its_streams_closed(case: Case) -> None:
    closed = "for stream in (0, 1, 2):\n    os.close(stream)\n"
    with case.parent(closed + "guardian = Guardian(COMMAND)\nos.kill(os.getpid(), signal.SIGKILL)\n") as process:
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
        assert case.has_run_once()


def test_a_parent_that_ignores_its_children(case: Case) -> None:
    ignoring = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    case.say(ignoring + "guardian = Guardian(COMMAND)\nguardian.release()\n")
    assert not case.ran.exists()


def test_a_guardian_that_was_killed(case: Case) -> None:
    body = """
guardian = Guardian(COMMAND)
print('ready', flush=True)
sys.stdin.readline()
try:
    guardian.keep_until(1)
except BrokenPipeError:
    print('gone')
guardian.release()
"""
    with case.parent(body) as process:
        ready(process)
        (guardian,) = case.guardians()
        guardian.kill()
        until(lambda: not case.guardians())
        assert process.communicate("go on\n", timeout=PATIENCE_S) == ("gone\n", "")
    assert not case.ran.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, who may have no process more")
def test_no_process_can_be_made(case: Case) -> None:
    body = """
os.chmod(os.path.dirname(sys.argv[1]), 0o777)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.setresuid(65534, 65534, 65534)
before = os.listdir("/proc/self/fd")
try:
    Guardian(COMMAND)
except OSError as error:
    print(error.errno, gc.isenabled(), signal.pthread_sigmask(signal.SIG_BLOCK, ()))
print(before == os.listdir("/proc/self/fd"))
"""
    assert case.say(body, "-W", "error") == f"{errno.EAGAIN} True set()\nTrue\n"
    assert not case.ran.exists()


def test_the_second_process_cannot_be_made(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.fork, []

    def once() -> int:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(errno.ENOMEM, "no memory")
        return real()

    monkeypatch.setattr(os, "fork", once)
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(OSError, match="no guardian process") as caught:
        Guardian(["/bin/touch", str(case.ran)])
    assert caught.value.errno == errno.ENOMEM
    assert sorted(Path("/proc/self/fd").iterdir()) == before
    assert gc.isenabled()
    assert not case.ran.exists()

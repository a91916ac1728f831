"""Processes of the running machine, and of trees."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tuneagent.machine import processes
from tuneagent.machine.live import LISTING_KEPT_NS, Live
from tuneagent.machine.source import Process
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason


def put(root: Path, pid: str, comm: str | None, cmdline: str = "") -> None:
    directory = root / "proc" / pid
    directory.mkdir(parents=True)
    if comm is not None:
        (directory / "comm").write_text(comm)
        (directory / "cmdline").write_text(cmdline)


def test_a_process_that_runs_here() -> None:
    with subprocess.Popen(["cat", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"x")
        child.stdout.read(1)  # its name is its own only when execve is done
        found = Live().processes(frozenset({"cat"}))
        child.stdin.close()
    assert Process(child.pid, "cat", ("cat", "-")) in found


def test_nobody_of_that_name_runs_here() -> None:
    assert Live().processes(frozenset({"no-such-process"})) == ()


def test_one_look_serves_the_questions_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    now = 10**12

    def listing(*_: object) -> tuple[tuple[str, str], ...]:
        looks.append(now)
        return (("1", "init"), (str(os.getpid()), "tester"), ("4000000000", "gone"))

    monkeypatch.setattr(processes, "listing", listing)
    monkeypatch.setattr("time.monotonic_ns", lambda: now)
    source = Live()
    (found,) = source.processes(frozenset({"tester", "vhost-1"}))
    assert found.pid == os.getpid()
    assert found.command[0] == Path("/proc/self/cmdline").read_text().split("\0")[0]
    now += LISTING_KEPT_NS
    assert source.processes(frozenset({"gone"})) == (Process(4000000000, "gone", ()),)
    assert len(looks) == 1
    now += 1
    source.processes(frozenset({"tester"}))
    assert looks == [10**12, now]


def test_a_refusal_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Live()
    source.processes(frozenset())
    monkeypatch.setattr("time.monotonic_ns", lambda: 2**63)
    monkeypatch.setattr(processes, "_pids", lambda _: ["7"])
    for _ in range(2):
        with pytest.raises(SourceError) as caught:
            source.processes(frozenset({"init"}))
        assert caught.value.reason is Reason.PERMISSION


def test_processes_of_a_tree(tmp_path: Path) -> None:
    put(tmp_path, "1", "systemd\n", "/sbin/init\0")
    put(tmp_path, "112", "irqbalance\n", "/usr/sbin/irqbalance\0--policyscript=\0\0")
    put(tmp_path, "21", "irqbalance\n")
    put(tmp_path, "33", None)
    put(tmp_path, "irq", "irqbalance\n")
    put(tmp_path, "99999999999", "irqbalance\n")
    found = Sysroot(str(tmp_path)).processes(frozenset({"irqbalance"}))
    expected = Process(112, "irqbalance", ("/usr/sbin/irqbalance", "--policyscript=", ""))
    assert found == (Process(21, "irqbalance", ()), expected)
    assert Sysroot(str(tmp_path)).processes(frozenset({"tuned"})) == ()


@pytest.mark.parametrize("pids", [(), ("7",)])
def test_a_tree_without_processes_says_so(tmp_path: Path, pids: tuple[str, ...]) -> None:
    for pid in pids:
        put(tmp_path, pid, None)
    with pytest.raises(SourceError) as caught:
        Sysroot(str(tmp_path)).processes(frozenset({"irqbalance"}))
    assert caught.value.reason is Reason.NOT_CAPTURED


def test_hidden_processes_are_no_absent_ones(tmp_path: Path) -> None:
    put(tmp_path, str(os.getpid()), "python\n")
    with pytest.raises(SourceError) as caught:
        processes.running(Sysroot(str(tmp_path)), frozenset({"irqbalance"}), "run as root")
    assert (caught.value.reason, caught.value.remedy) == (Reason.PERMISSION, "run as root")


def test_a_captured_answer_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "captured").mkdir()
    (tmp_path / "captured/processes.json").write_text('{"irqbalance": 5}')
    with pytest.raises(SourceError) as caught:
        Sysroot(str(tmp_path)).processes(frozenset({"irqbalance"}))
    assert caught.value.reason is Reason.MALFORMED

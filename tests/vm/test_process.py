"""Nothing outlives the process that started it. Boots nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.vm.process import last_lines, start

PARENT = """
import sys, time
from pathlib import Path
from tests.vm.process import start
start(["sleep", "600"], Path(sys.argv[1]), "child")
print("started", flush=True)
time.sleep(600)
"""


def test_a_child_is_ended_and_its_pidfile_with_it(tmp_path: Path) -> None:
    child = start(["sleep", "600"], tmp_path, "child")
    assert int((tmp_path / "child.pid").read_text()) == child.process.pid
    child.end()
    child.end()
    assert not child.running
    assert not (tmp_path / "child.pid").exists()


def test_a_child_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    repository = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], cwd=repository, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        child = int((tmp_path / "child.pid").read_text())
        os.kill(parent.pid, signal.SIGKILL)
    assert _gone(child)


def test_a_console_shows_its_end_without_control_characters(tmp_path: Path) -> None:
    console = tmp_path / "console"
    console.write_bytes(b"first\nsecond\x1b[0m\nthird \xff\n")
    assert last_lines(console, 2) == "second·[0m\nthird \\xff"
    assert "does not exist" in last_lines(tmp_path / "none")


def _gone(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":  # dead; whoever inherited it has not asked yet
            return True
        time.sleep(0.05)
    return False

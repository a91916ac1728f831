"""``python -m tuneagent`` from anywhere: guardians and timers run it so, in ``/``."""

from __future__ import annotations

import subprocess
import sys

from tuneagent import __version__


def test_the_package_runs_as_the_command_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tuneagent", "--version"], cwd="/", capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == "tuneagent,"
    assert done.stdout.split()[-1] == __version__


def test_the_exit_code_is_the_commands() -> None:
    done = subprocess.run([sys.executable, "-m", "tuneagent", "nosuch"], cwd="/", capture_output=True, check=False)
    assert done.returncode == 2

"""The command line called in this process and as a process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuneagent.app import main

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-c", "from tuneagent.app.main import main; main()")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command line gave."""

    code: int
    out: str
    err: str

    @property
    def refused(self) -> bool:
        """Bad usage or input, in one line that is no traceback."""
        return self.code == 2 and self.out == "" and self.err.count("\n") == 1 and self.err.startswith("tuneagent")


def run(*arguments: str | Path) -> Ran:
    """In this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.run([str(one) for one in arguments])
    return Ran(code, out.getvalue(), err.getvalue())


def environment(**changes: str) -> dict[str, str]:
    """This process's variables without those that change colours, with the project importable from anywhere."""
    plain = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM", "FORCE_COLOR"}}
    return plain | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color"} | changes


def start(*arguments: str | Path, env: Mapping[str, str] | None = None, **streams: Any) -> subprocess.Popen[str]:
    """As a process that runs on."""
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.Popen(command, text=True, env=dict(env or environment()), **streams)


def process(
    *arguments: str | Path, env: Mapping[str, str] | None = None, before: Sequence[str] = (), **options: Any
) -> Ran:
    """As a process, to its end; ``before`` are the words of a program that starts it."""
    command = [*before, *PROGRAM, *map(str, arguments)]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    done = subprocess.run(
        command, text=True, env=dict(env or environment()), stdin=subprocess.DEVNULL, timeout=60, check=False, **streams
    )
    return Ran(done.returncode, done.stdout or "", done.stderr or "")

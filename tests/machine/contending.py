"""Whether waits for locks can be counted here, a load that makes them, and what perf counts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which
from subprocess import PIPE
from tempfile import TemporaryDirectory

import pytest

from tests.machine import contention_load
from tuneagent.machine import lock_counting
from tuneagent.model.errors import SourceError


def why_not() -> str | None:
    """Why nothing can be counted; None where it can."""
    counting = lock_counting.LockCounting()
    try:
        counting.read()
    except SourceError as error:
        return str(error)
    finally:
        counting.close()
    return None


WHY_NOT = why_not()
needs_counting = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


@contextmanager
def load(processes: int = 3, pause_s: float = 0.0) -> Iterator[None]:
    """Processes that wait for each other's locks while the block runs."""
    # Its processes are killed while they make files there: one may still be in the making when the directory goes.
    with TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as directory:
        command = [sys.executable, contention_load.__file__, directory, str(processes), str(pause_s)]
        with subprocess.Popen(command, stdout=PIPE, start_new_session=True) as process:
            try:
                assert process.stdout is not None
                process.stdout.readline()
                yield
            finally:
                os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def perf_counts() -> Iterator[dict[int, int]]:
    """What perf counts of contention_begin by CPU while the block runs; skips where it cannot."""
    perf = which("perf")
    if perf is None:
        pytest.skip("perf is not installed")
    # In a namespace of its own: perf mounts tracefs, and leaves it mounted.
    arguments = [perf, "stat", "-x,", "-A", "-a", "-e", "lock:contention_begin", "--", "sh", "-c", "echo on; read end"]
    counts: dict[int, int] = {}
    with subprocess.Popen(
        ["unshare", "--mount", *arguments], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield counts
        _, said = process.communicate("\n", timeout=30)
    rows = [line.split(",") for line in said.splitlines() if "contention_begin" in line]
    if not rows:
        pytest.skip(f"perf does not count: {said[:200]}")
    counts |= {int(row[0].removeprefix("CPU")): int(row[1]) for row in rows}

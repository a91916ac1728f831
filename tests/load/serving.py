"""A server in a process of its own, as `tuneagent load serve` is, and what can be done to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.app.command import PROGRAM, environment

TOKEN = "the-token-of-the-tests"  # noqa: S105 - it guards nothing
ADDRESS = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that listens."""

    process: subprocess.Popen[str]
    address: str
    port: int

    def workers(self) -> list[psutil.Process]:
        """The processes that answer."""
        return psutil.Process(self.process.pid).children()

    def ended(self) -> tuple[int, str, str]:
        """Its exit code and what it said, once it has ended."""
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@contextmanager
def serving(scratch: Path, *options: str, address: str = ADDRESS, before: tuple[str, ...] = ()) -> Iterator[Serving]:
    """A server on a port that is free, killed in the end if it still runs."""
    token = scratch / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    words = ("load", "serve", "--listen", address, "--token-file", str(token), "--for", "100", "--json", *options)
    pipe = subprocess.PIPE
    process = subprocess.Popen([*before, *PROGRAM, *words], stdout=pipe, stderr=pipe, text=True, env=environment())
    try:
        yield _listening(process)
    finally:
        process.kill()
        process.communicate(timeout=30)


def _listening(process: subprocess.Popen[str]) -> Serving:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line == "}\n":
            break
    said = json.loads("".join(lines))
    assert said["token"] is None
    return Serving(process, said["address"], said["port"])

"""Children that end with us, however we end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 10.0
HARMLESS = "warning: TCG doesn't support requested feature"  # a line for each vCPU and bit of a named CPU model


@dataclass(slots=True)
class Child:
    """One process of our own, in a session of its own, with its pidfile and what it said."""

    process: subprocess.Popen[bytes]
    pidfile: Path
    said: Path

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def end(self) -> None:
        """Ask it to end, then make it; only this process, by its id. Doing it twice is harmless."""
        if self.running:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.pidfile.unlink(missing_ok=True)


def start(
    words: Sequence[str | Path], directory: Path, name: str, environment: Mapping[str, str] | None = None
) -> Child:
    """Start ``words``; standard output and errors go to ``directory/name.log``, the id to ``directory/name.pid``.

    The kernel kills the child when our process dies, so that a crash or SIGKILL leaves nothing running
    (prctl(2), PR_SET_PDEATHSIG, set by setpriv(1) since code between fork and exec is not safe with threads).
    """
    said = directory / f"{name}.log"
    with said.open("wb") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", signal.Signals.SIGKILL.name.removeprefix("SIG"), "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(environment or os.environ),
            start_new_session=True,  # ctrl-C is for pytest, whose fixtures then end the child in order
        )
    _bound(process)
    pidfile = directory / f"{name}.pid"
    pidfile.write_text(f"{process.pid}\n")
    return Child(process, pidfile, said)


def _bound(process: subprocess.Popen[bytes]) -> None:
    """Wait until setpriv has bound the child to us and become it; Popen returns before that."""
    comm = Path(f"/proc/{process.pid}/comm")
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and comm.read_text() == "setpriv\n" and time.monotonic() < deadline:
        time.sleep(0.005)


def last_lines(file: Path, lines: int = 25) -> str:
    """The end of a console or log, control characters made visible; a word where there is nothing."""
    if not file.exists():
        return f"({file.name} does not exist)"
    tail = file.read_bytes()[-32768:].decode(errors="backslashreplace").splitlines()
    telling = [_visible(line.rstrip()) for line in tail if HARMLESS not in line]
    return "\n".join(telling[-lines:]) or f"({file.name} is empty)"


def _visible(line: str) -> str:
    return "".join(letter if letter.isprintable() or letter == "\t" else "·" for letter in line)

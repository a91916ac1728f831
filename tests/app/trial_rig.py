"""A network namespace to try changes in: v0, a veth of four queues, and its peer in a namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.app.command import PROGRAM, Ran, environment

HERE, THERE = "10.9.9.1", "10.9.9.2"
PATIENCE_S = 60.0
_MAKE = """
set -e
mount -t sysfs none /sys
ip link set lo up
ip link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1 netns "$1"
ip addr add 10.9.9.1/24 dev v0
ip link set v0 up
echo made
exec sleep 1000
"""
_PEER = "ip link set lo up; echo made; exec sleep 1000"
_ADDRESS = "ip addr add 10.9.9.2/24 dev v1 && ip link set v1 up"
FILE = "/sys/class/net/v0/queues/rx-0/rps_cpus"


@dataclass(frozen=True, slots=True)
class Rig:
    """The namespaces, and where this test's journals and trials are."""

    inside: tuple[str, ...]
    """The words before a command that runs in v0's namespaces."""
    there: tuple[str, ...]
    """The same of the peer's."""
    scratch: Path

    def value(self, path: str = FILE) -> str:
        """What a file of v0's namespace holds."""
        return subprocess.run([*self.inside, "cat", path], check=True, capture_output=True, text=True).stdout.strip()

    def plan(self) -> Path:
        """A plan that hands packets of queue 0 to CPU 0."""
        target = {"mac": self.value("/sys/class/net/v0/address"), "queue": 0, "queue_role": "rx", "interface": "v0"}
        file = self.scratch / "plan.json"
        file.write_text(json.dumps({"changes": [{"kind": "rps-cpus", "target": target, "new": "1"}]}))
        file.chmod(0o600)
        return file

    def words(self, *arguments: str | Path) -> list[str]:
        """A command line of ours in the namespaces."""
        return [*self.inside, *PROGRAM, *map(str, arguments)]

    def run(self, *arguments: str | Path) -> Ran:
        """To its end."""
        done = subprocess.run(
            self.words(*arguments), capture_output=True, text=True, env=environment(), timeout=110, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @property
    def places(self) -> tuple[str, ...]:
        """The options that keep a trial away from this machine's own records."""
        return ("--state", str(self.scratch / "state"), "--store", str(self.scratch / "trials.db"), "--in-container")

    def trials(self) -> list[dict[str, Any]]:
        """All that are stored, oldest first, each in full."""
        lines = self.run("export", "--store", self.scratch / "trials.db").out.splitlines()
        return [json.loads(line) for line in lines]

    def status(self) -> dict[str, Any]:
        """What stands."""
        told: dict[str, Any] = json.loads(self.run("status", "--json", "--state", self.scratch / "state").out)
        return told


def printing(numbers: str, seconds: str = "$TUNEAGENT_SECONDS") -> tuple[str, ...]:
    """A load that prints one of two numbers with a little noise: the second while packets are handed on."""
    a, b = numbers.split()
    count = f'n={a}; [ "$(cat {FILE})" = 1 ] && n={b}; '
    noise = "echo $((n * 1000 + $(od -An -N1 -tu1 /dev/urandom)))"
    return ("--load", "command", "--", "sh", "-c", f"{count}sleep {seconds}; {noise}")


@contextmanager
def _kept(command: Sequence[str]) -> Iterator[int]:
    """The number of a process that says that it is ready, and is ended with the body."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "made\n":
            process.kill()
            pytest.fail(process.communicate()[1])
        yield process.pid
    finally:
        process.kill()
        process.communicate()


@contextmanager
def namespaces() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words that lead into v0's namespaces, and into the peer's."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with (
        _kept(["unshare", "--net", "sh", "-c", _PEER]) as peer,
        _kept(["unshare", "--net", "--mount", "sh", "-c", _MAKE, "sh", str(peer)]) as own,
    ):
        there = ("nsenter", "-t", str(peer), "-n")
        subprocess.run([*there, "sh", "-c", _ADDRESS], check=True, capture_output=True)
        yield ("nsenter", "-t", str(own), "-n", "-m"), there


def until(true: Callable[[], bool]) -> bool:
    """Whether it becomes true within what anybody would wait."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False

"""One command line of advise over a machine, without what differs from run to run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import machines
from tests.machines.build import MACHINES, build
from tuneagent import __version__
from tuneagent.app.main import run

CAPTURES = tuple(sorted(file.stem for file in Path(machines.__path__[0]).glob("*.json")))
JOINED = {"lab-joined-6.1": ("lab-hypervisor-6.1-loaded", "guest6.1-2cpu-1nic-768m", "lab-guest-6.1-loaded")}
"""A hypervisor, a domain of it, and the inside of that over the same seconds."""
NAMES = (*MACHINES, *CAPTURES, *JOINED)


def capture(name: str) -> Path:
    """A kept look at a real machine."""
    return Path(machines.__path__[0]) / f"{name}.json"


def prepared(name: str, directory: Path) -> list[str]:
    """The machine below this directory, and the options that name it from there."""
    if name in MACHINES:
        build(name, directory)
        return ["--sysroot", f"{name}/t0", "--sysroot", f"{name}/t1"]
    if name in JOINED:
        host, domain, guest = JOINED[name]
        inside = prepared(guest, directory)[1]
        return [*prepared(host, directory), "--domain", domain, "--guest-snapshot", inside]
    (directory / f"{name}.json").write_bytes(capture(name).read_bytes())
    return ["--snapshot", f"{name}.json"]


def text(options: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The report for people, without version and cost."""
    assert run(["advise", *options]) == 0
    report = capsys.readouterr().out.replace(f"tuneagent {__version__}: ", "tuneagent: ", 1)
    return report.partition("\nThis report cost ")[0]


def document(options: Sequence[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The report for programs, without version and cost."""
    assert run(["advise", "--json", *options]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert report.pop("version") == __version__
    assert report.pop("cost")["cpu_s"] > 0
    return report

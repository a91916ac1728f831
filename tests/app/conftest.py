from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.command import run
from tests.trees import Guest, Load
from tuneagent.app import policy_files

BUSY = Load(
    interrupts={f"input.{queue}": {queue: 2001 + queue} for queue in range(4)},
    statistics={"rx_packets": 80_000, "tx_packets": 40_000, "rx_bytes": 9_000_000, "tx_bytes": 4_000_000},
    softnet=dict.fromkeys(range(4), (20000, 0, 0)),
)
SPLIT = {"output.1": "3"}
SATURATED = {0: 197}

Trees = Callable[[str], tuple[Path, Path]]


@pytest.fixture(autouse=True)
def policies_read_anew() -> Iterator[None]:
    """Policies are read once a process; a test may bring others."""
    policy_files.policies.cache_clear()
    yield
    policy_files.policies.cache_clear()


@pytest.fixture(scope="session")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Trees:
    """Two moments of a guest, by what is wrong with it: well, info, warning, critical."""
    moments = {
        "well": (Guest(), BUSY),
        "info": (Guest(effective=SPLIT), BUSY),
        "warning": (Guest(features=Guest().features - {29}), BUSY),
        "critical": (Guest(), replace(BUSY, softirq_ticks=SATURATED)),
    }

    def made(kind: str) -> tuple[Path, Path]:
        guest, load = moments[kind]
        root = tmp_path_factory.mktemp(kind)
        return guest.write(root / "t0"), guest.after(load).write(root / "t1")

    return made


@pytest.fixture(scope="session")
def snapshot_file(trees: Trees, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot file of two samples."""
    file = tmp_path_factory.mktemp("snapshot") / "snapshot.json"
    before, after = trees("warning")
    done = run("snapshot", "--sysroot", before, "--sysroot", after, "-o", file)
    assert (done.code, done.out) == (0, "")
    return file

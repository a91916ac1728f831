"""Each figure by itself. Medians, for a machine does other things too."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from tests import make
from tests.bench import large_table
from tests.bench.measured import ROOT, Measured
from tuneagent import rates
from tuneagent.machine.live import Live
from tuneagent.model.clock import Clock
from tuneagent.observe import snapshot
from tuneagent.parse import interrupts

START_NS = 10**9
PROGRAM = (sys.executable, "-c", "from tuneagent.app.main import main; main()")


def snapshot_cpu_ms(runs: int = 25) -> Measured:
    """One look at this machine, imports and the first look left out."""
    snapshot(Live())
    costs = []
    for _ in range(runs):
        source = Live()
        began = time.process_time()
        snapshot(source)
        costs.append((time.process_time() - began) * 1000)
    return Measured("snapshot_cpu_ms", median(costs), 15.0, runs)


def table_ratio(scratch: Path, changed: float, runs: int = 11) -> Measured:
    """Parse two tables of 256 x 1,000 and compare them, over reading and splitting the same two texts, by turns."""
    files = [scratch / "before", scratch / "after"]
    for file, text in zip(files, large_table.pair(changed), strict=True):
        file.write_text(text)
    ours, plain = [], []
    for _ in range(runs):
        plain.append(_cpu_s(lambda: _read_and_split(files)))
        ours.append(_cpu_s(lambda: _parse_and_compare(files)))
    return Measured(f"table_{round(100 * changed)}_percent_changed_ratio", median(ours) / median(plain), 3.5, runs)


def _cpu_s(work: Callable[[], object]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def _read_and_split(files: Sequence[Path]) -> list[list[list[str]]]:
    return [[line.split() for line in file.read_text().splitlines()] for file in files]


def _parse_and_compare(files: Sequence[Path]) -> int:
    before = interrupts.parse(files[0].read_text())
    after = interrupts.parse(files[1].read_text(), before)
    clocks = [Clock(at, at, at) for at in (START_NS, 3 * START_NS)]
    first, last = (
        make.snapshot(clock=clock, interrupts=table) for clock, table in zip(clocks, (before, after), strict=True)
    )
    return len(rates.view(first, last).irqs)


def advise_beyond_interval_s(runs: int = 5) -> Measured:
    """Wall time of the process without its interval."""
    walls = [_wall_s("advise", "--json", "--interval", "1") - 1 for _ in range(runs)]
    return Measured("advise_wall_beyond_interval_s", median(walls), 0.3, runs)


def advise_peak_rss_mb(runs: int = 3) -> Measured:
    """As the report says of itself (VmHWM)."""
    peaks = [_peak_rss_mb("--interval", "1") for _ in range(runs)]
    return Measured(f"advise_{os.cpu_count()}_cpus_peak_rss_mb", median(peaks), 45.0, runs)


def advise_large_peak_rss_mb(scratch: Path, changed: float) -> Measured:
    """With two trees of 256 CPUs and 1,000 interrupts; a changed row has grown on all 256 CPUs, the worst there is."""
    trees = [large_table.tree(scratch / f"t{place}", text) for place, text in enumerate(large_table.pair(changed))]
    options = [word for tree in trees for word in ("--sysroot", str(tree))]
    return Measured(f"advise_256_cpus_{round(100 * changed)}_percent_peak_rss_mb", _peak_rss_mb(*options), 65.0, 1)


def version_wall_ms(runs: int = 15) -> Measured:
    """A whole process, its bytecode compiled by the run before."""
    _wall_s("--version")
    return Measured("version_wall_ms", median(_wall_s("--version") * 1000 for _ in range(runs)), 80.0, runs)


def _wall_s(*arguments: str) -> float:
    began = time.monotonic()
    _run(*arguments)
    return time.monotonic() - began


def _peak_rss_mb(*options: str) -> float:
    cost = json.loads(_run("advise", "--json", *options))["cost"]
    return float(cost["peak_rss_bytes"]) / 1e6


def _run(*arguments: str) -> str:
    done = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout

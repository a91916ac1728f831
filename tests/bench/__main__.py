"""Measure, print a table, write bench-HOST.json. Always exit 0: a slow machine is no broken program."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tests.bench import apply_cost, contention_cost, hypervisor_cost, load_rate, measure, trial_store
from tests.bench.measured import Measured
from tuneagent import __version__


def all_figures(scratch: Path) -> Iterator[Measured]:
    """Each figure as soon as it is there."""
    yield measure.snapshot_cpu_ms()
    yield measure.table_ratio(scratch, 1.0)
    yield measure.table_ratio(scratch, 0.1)
    yield measure.version_wall_ms()
    yield measure.advise_beyond_interval_s()
    yield measure.advise_peak_rss_mb()
    yield measure.advise_large_peak_rss_mb(scratch, 0.1)
    yield measure.advise_large_peak_rss_mb(scratch, 1.0)
    yield from apply_cost.figures(scratch)
    yield from contention_cost.figures(scratch)
    yield from hypervisor_cost.figures(scratch)
    yield from load_rate.figures(scratch)
    yield from trial_store.figures(scratch)


def main() -> None:
    """Run everything."""
    figures = []
    with tempfile.TemporaryDirectory() as scratch:
        for one in all_figures(Path(scratch)):
            figures.append(one)
            verdict = "within" if one.within else "over"
            sys.stdout.write(f"{one.name:42} {one.value:10.2f}  limit {one.limit:6g}  {verdict}\n")
            sys.stdout.flush()
    if os.getloadavg()[0] > (os.cpu_count() or 1):
        sys.stdout.write(f"load {os.getloadavg()[0]:.1f}: others used the CPUs too, so wall times say little\n")
    file = Path(f"bench-{platform.node() or 'unknown'}.json")
    file.write_text(json.dumps(_document(figures), indent=2) + "\n")
    sys.stdout.write(f"written to {file}\n")


def _document(figures: list[Measured]) -> dict[str, object]:
    return {
        "schema": "tuneagent.bench/1",
        "version": __version__,
        "python": platform.python_version(),
        "kernel_release": platform.release(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
        "load_1_min": round(os.getloadavg()[0], 2),
        "figures": [{**asdict(one), "within": one.within} for one in figures],
    }


if __name__ == "__main__":
    main()

"""What a sample of a hypervisor costs, by its number of virtual machines and by where KVM's counters come from."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.bench.hypervisor_host import Host, Rooted
from tests.bench.measured import ROOT, Measured
from tuneagent.model.snapshot import Snapshot
from tuneagent.observe import snapshot

MACHINES = (10, 100, 1000)
SOURCES = {
    "debugfs": ("domains", "links"),
    "stats_fd": ("domains", "links", "kvm-statistics"),
    "domstats": ("domains", "links", "domain-statistics"),
}
"""Where KVM's counters come from, and what is told besides files."""
LIMITS_MS = {"debugfs": 250.0, "stats_fd": 250.0, "domstats": 600.0}
MOST_FIRST_MS = 1000.0
MOST_GROWTH = 1.5
"""What one more virtual machine costs among a thousand, against among a hundred: what is there without any left out."""
MOST_MB = 80.0


def figures(scratch: Path) -> Iterator[Measured]:
    """CPU of the first sample and of a steady one, growth with the number of machines, and memory."""
    for source in SOURCES:
        costs = {machines: _cpu_ms(scratch, source, machines) for machines in MACHINES}
        most = MACHINES[-1]
        first, steady = costs[most][0], {machines: cost for machines, (_, cost) in costs.items()}
        yield Measured(f"hypervisor_{most}_{source}_first_cpu_ms", first, MOST_FIRST_MS, 1)
        yield Measured(f"hypervisor_{most}_{source}_steady_cpu_ms", steady[most], LIMITS_MS[source], _RUNS)
        yield Measured(f"hypervisor_{source}_growth_ratio", _growth(steady), MOST_GROWTH, _RUNS)
        yield Measured(f"hypervisor_{most}_{source}_memory_mb", _memory_mb(scratch, source, most), MOST_MB, 1)


_RUNS = 9


def _growth(steady: dict[int, float]) -> float:
    few, some, many = MACHINES
    return (steady[many] - steady[some]) / (many - some) / ((steady[some] - steady[few]) / (some - few))


def _moments(scratch: Path, source: str, machines: int) -> tuple[Rooted, Rooted]:
    first, last = (_source(scratch, source, Host(machines, moment, source == "debugfs")) for moment in (0, 1))
    return first, last


def _source(scratch: Path, source: str, host: Host) -> Rooted:
    top = scratch / f"{host.machines}-{host.moment}-{host.debugfs}"
    return Rooted(top if top.exists() else host.write(top), host.captured(*SOURCES[source]))


def _cpu_ms(scratch: Path, source: str, machines: int) -> tuple[float, float]:
    """(the first sample, the median of samples that have an earlier one)."""
    first, last = _moments(scratch, source, machines)
    cost, earlier = _timed(first, None)
    return cost, median(_timed(last, earlier)[0] for _ in range(_RUNS))


def _timed(source: Rooted, previous: Snapshot | None) -> tuple[float, Snapshot]:
    source.forget()
    gc.collect()
    began = time.process_time()
    seen = snapshot(source, previous)
    return (time.process_time() - began) * 1000, seen


def _memory_mb(scratch: Path, source: str, machines: int) -> float:
    """Growth of the highest resident size of a process over two samples, its records left out."""
    arguments = [sys.executable, "-m", "tests.bench.hypervisor_cost", str(scratch), source, str(machines)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=ROOT)
    return float(json.loads(done.stdout))


def _grown_mb(scratch: Path, source: str, machines: int) -> float:
    first, last = _moments(scratch, source, machines)
    gc.collect()
    before = _resident_bytes("VmRSS")
    earlier = snapshot(first)
    later = snapshot(last, earlier)
    grown = _resident_bytes("VmHWM") - before
    return grown / 1e6 if earlier.hypervisor and later.hypervisor else float("inf")


def _resident_bytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{key}:")).split()[1]) * 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_grown_mb(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))

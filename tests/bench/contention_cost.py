"""What it costs to watch waits for locks, to name the kernel's addresses, and to take a profile."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.bench.measured import ROOT, Measured
from tests.machine.contending import load
from tuneagent.machine import kallsyms, lock_recording, perf_event, perf_profile, tracepoints
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import SourceError
from tuneagent.parse import tracepoint_format

EVENTS_PER_S = 100_000
CALLS = 20_000
PAIRS = 40
PR_SET_NAME = 15
SYMBOLS = 200_000
RENAME = tracepoints.Wanted("task", "task_rename", {"newcomm": (16,)}, "Linux 3.4")


def figures(scratch: Path) -> Iterator[Measured]:
    """Counting, recording, symbols and a profile; those that this machine permits."""
    try:
        yield _counting_percent()
        yield _recording_cpu_s()
        yield from _profile_wall_s()
    except SourceError as error:
        sys.stdout.write(f"not measured here: {error}\n")
    yield from _symbols(scratch)


def _counting_percent() -> Measured:
    """Share of a CPU that counting 100,000 events a second takes.

    Of another tracepoint, which fires once for each prctl(2): waits for locks cannot be made to come at a set rate, and
    what counting adds to an event is the same. Runs with and without the counter in turn; the CPU time of this thread.
    """
    number = tracepoint_format.parse(_format_text()).id
    costs = [_pair(number) for _ in range(PAIRS)]
    return Measured("contention_counting_100000_per_s_cpu_percent", median(costs) * EVENTS_PER_S * 100, 2.0, PAIRS)


def _format_text() -> str:
    script = 'mount -t tracefs -o ro nodev "$0"; cat "$0/$1"'
    command = ["unshare", "--mount", "sh", "-c", script, tracepoints.TRACEFS, RENAME.path]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _pair(number: int) -> float:
    """CPU seconds that one event costs more when it is counted."""
    without = _calls_cpu_s()
    wanted = perf_event.attribute(perf_event.PERF_TYPE_TRACEPOINT, number, read_format=perf_event.COUNTED)
    files = [perf_event.open_on_cpu("bench", wanted, cpu) for cpu in range(os.cpu_count() or 1)]
    counted = _calls_cpu_s()
    events = sum(said.events for file in files if (said := perf_event.count(file)) is not None)
    for file in files:
        os.close(file)  # not only disabled: the tracepoint itself costs something while somebody has it open
    return (counted - without) / events


def _calls_cpu_s() -> float:
    prctl, name = ctypes.CDLL(None).prctl, ctypes.c_char_p(b"bench")
    began = time.thread_time()
    for _ in range(CALLS):
        prctl(PR_SET_NAME, name, 0, 0, 0)
    return time.thread_time() - began


def _recording_cpu_s() -> Measured:
    """What the agent spends on a record of 2 s in which processes contend as much as they can, symbols included."""
    with load():
        recording = lock_recording.LockRecording(2.0)
        time.sleep(2.1)
        found = recording.value()
    return Measured("lock_record_2_s_contended_cpu_s", found["cpu_s"], 1.0, 1)


def _profile_wall_s() -> Iterator[Measured]:
    perf_profile.sample(0.1)
    cpus = CpuSet.of(sorted(os.sched_getaffinity(0))[:2])
    code = "from tuneagent.machine import perf_profile\nfrom tuneagent.model.cpuset import CpuSet\n"
    code += f"perf_profile.sample(2, CpuSet({cpus.bits}))"
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    yield Measured(f"profile_2_s_{len(cpus)}_cpus_wall_s", time.monotonic() - began, 3.5, 1)


def _symbols(scratch: Path) -> Iterator[Measured]:
    """Of a file with 200,000 symbols of code, a seventh of them of modules, which are not sorted."""
    file = scratch / "kallsyms"
    with file.open("w") as rows:
        for number in range(SYMBOLS):
            kind = "t" if number % 3 else "T"
            of_module = number > SYMBOLS * 6 // 7
            place, module = (2 * SYMBOLS - number, "\t[some_module]") if of_module else (number, "")
            rows.write(f"{0xFFFFFFFF81000000 + place * 160:016x} {kind} some_function_name_{number}{module}\n")
    runs = [_loaded(file) for _ in range(5)]
    yield Measured("symbols_200000_load_cpu_s", median(cpu_s for cpu_s, _ in runs), 0.3, len(runs))
    yield Measured("symbols_200000_peak_mb", max(peak for _, peak in runs), 30.0, len(runs))


def _loaded(file: Path) -> tuple[float, float]:
    """(CPU seconds, growth of the highest resident size in MB) of a process that loads it."""
    arguments = [sys.executable, "-m", "tests.bench.contention_cost", str(file)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=ROOT)
    cpu_s, peak = json.loads(done.stdout)
    return float(cpu_s), float(peak)


def _load(file: str) -> tuple[float, float]:
    before, began = _resident_bytes("VmRSS"), time.process_time()
    with open(file, "rb", buffering=0) as rows:  # noqa: PTH123 - as it is opened in earnest
        symbols = kallsyms.parsed(rows)
    cpu_s = time.process_time() - began
    return (cpu_s, (_resident_bytes("VmHWM") - before) / 1e6) if len(symbols) == SYMBOLS else (float("inf"),) * 2


def _resident_bytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{key}:")).split()[1]) * 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_load(sys.argv[1])))

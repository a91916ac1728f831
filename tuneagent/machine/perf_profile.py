"""Where the CPUs' time goes: samples by kernel symbol and CPU, of cycles where the CPU counts them, else of a timer."""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tuneagent.machine import cpus as machine_cpus
from tuneagent.machine import kallsyms, own_cost, perf_event
from tuneagent.machine.kallsyms import Symbols
from tuneagent.machine.perf_event import (
    PERF_COUNT_HW_CPU_CYCLES,
    PERF_COUNT_SW_CPU_CLOCK,
    PERF_SAMPLE_CPU,
    PERF_SAMPLE_IP,
    PERF_SAMPLE_TID,
    PERF_TYPE_HARDWARE,
    PERF_TYPE_SOFTWARE,
    Attribute,
)
from tuneagent.machine.perf_ring import Ring, size_for
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse import perf_records
from tuneagent.parse.perf_names import is_idle

NAME = "profile"
FREQUENCY_HZ = 999
"""Not 1000: samples that keep step with the kernel's own timers see these only."""
MOST_FREQUENCY_HZ = 20_000
MOST_SECONDS = 3600.0
RING_BYTES = 256 * 1024
ALL_RINGS_BYTES = 32 * 1024 * 1024
LOOK_S = 0.5
"""How often the rings are emptied."""
UNKNOWN = "[unknown]"
_TIMER_LIMIT = (
    "cpu-clock is a timer: code that runs with interrupts off is seen where it lets them in again "
    "(no counter of cycles here)"
)


@dataclass(slots=True)
class _Cpu:
    """The samples of one CPU."""

    file: int
    ring: Ring


@dataclass(slots=True)
class _Tally:
    """Samples as they came."""

    kernel: Counter[tuple[int, int, bool]] = field(default_factory=Counter)
    """By CPU, address and whether it was in the idle task."""
    user: int = 0
    lost: int = 0
    throttled: int = 0
    faults: int = 0


def sample(seconds: float, cpus: CpuSet | None = None, frequency_hz: int = FREQUENCY_HZ) -> dict[str, Any]:
    """Samples these CPUs, or all that are online, for so long: waits meanwhile. Raises SourceError.

    ``{"event": "cycles", "seconds": 2.0, "frequency_hz": 999, "cpus": [0, 1],
    "kernel": [["symbol", "module", {"0": 12}], …], "user_samples": n, "idle_samples": n, "lost": n, "throttled": n,
    "limits": [str, …], "kernel_release": "6.18.1", "taken_at_ns": n, "cpu_s": 0.02}``; most samples first, null for the
    module of the kernel proper.
    """
    began_cpu_s, taken_at_ns = own_cost.cpu_seconds(), time.time_ns()
    chosen = _chosen(cpus)
    event, opened = _opened(chosen, max(1, min(frequency_hz, MOST_FREQUENCY_HZ)))
    tally = _Tally()
    try:
        took_s = _watch(opened, min(seconds, MOST_SECONDS), tally)
    finally:
        for one in opened.values():
            one.ring.close()
            os.close(one.file)
    limits = [_TIMER_LIMIT] if event == "cpu-clock" else []
    if gone := chosen - CpuSet.of(opened):
        limits.append(f"CPUs {gone} went offline")
    kernel, idle = _named(tally.kernel, limits)
    if not (kernel or idle or tally.user):
        limits.append(f"{event} gave no sample at all")
    if tally.faults:
        limits.append(f"records were not as documented {tally.faults} times, and what followed them is left out")
    return {
        "event": event,
        "seconds": took_s,
        "frequency_hz": frequency_hz,
        "cpus": list(opened),
        "kernel": kernel,
        "user_samples": tally.user,
        "idle_samples": idle,
        "lost": tally.lost,
        "throttled": tally.throttled,
        "limits": limits,
        "kernel_release": platform.release(),
        "taken_at_ns": taken_at_ns,
        "cpu_s": own_cost.cpu_seconds() - began_cpu_s,
    }


def _chosen(wanted: CpuSet | None) -> CpuSet:
    online = machine_cpus.online()
    if wanted is None:
        return online
    if missing := wanted - online:
        raise SourceError(NAME, Reason.ABSENT, f"not online: CPUs {missing}", f"choose among CPUs {online}")
    if not wanted:
        raise SourceError(NAME, Reason.ABSENT, "no CPU is asked for", f"choose among CPUs {online}")
    return wanted


def _opened(chosen: CpuSet, frequency_hz: int) -> tuple[str, dict[int, _Cpu]]:
    """What is sampled, and the events, not begun yet."""
    try:
        return "cycles", _open(chosen, _attribute(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, frequency_hz))
    except SourceError as error:
        if error.reason is Reason.PERMISSION:
            raise
    # No such counter, one that cannot interrupt, or one that somebody holds: a timer does.
    return "cpu-clock", _open(chosen, _attribute(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, frequency_hz))


def _open(chosen: CpuSet, wanted: Attribute) -> dict[int, _Cpu]:
    opened: dict[int, _Cpu] = {}
    size = size_for(len(chosen), RING_BYTES, ALL_RINGS_BYTES)
    try:
        for cpu in chosen:
            file = perf_event.open_on_cpu(NAME, wanted, cpu)
            try:
                opened[cpu] = _Cpu(file, Ring(NAME, file, size))
            except SourceError:
                os.close(file)
                raise
    except SourceError:
        for one in opened.values():
            one.ring.close()
            os.close(one.file)
        raise
    return opened


def _watch(opened: Mapping[int, _Cpu], seconds: float, tally: _Tally) -> float:
    """Samples for so long; how long it was."""
    for one in opened.values():
        perf_event.enable(one.file)
    began = time.monotonic()
    while (left := began + seconds - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_S))
        for one in opened.values():
            _add(tally, one.ring.take())
    for one in opened.values():
        perf_event.disable(one.file)
    ended = time.monotonic()
    for one in opened.values():
        _add(tally, one.ring.take())
    return ended - began


def _add(tally: _Tally, data: bytes) -> None:
    found = perf_records.cpu_samples(data)
    tally.lost += found.lost
    tally.throttled += found.throttled
    tally.faults += len(found.faults)
    kernel = [(one.cpu, one.address, one.tid == 0) for one in found.samples if one.kernel]
    tally.kernel.update(kernel)
    tally.user += len(found.samples) - len(kernel)


def _named(samples: Mapping[tuple[int, int, bool], int], limits: list[str]) -> tuple[list[Any], int]:
    """Rows of ``kernel``, and the samples in which the idle task idled."""
    symbols = _symbols(limits) if samples else None
    idle, rows = 0, dict[tuple[str, str | None], Counter[int]]()
    for (cpu, address, in_idle_task), count in samples.items():
        found = None if symbols is None else symbols.resolve(address)
        name, module = (UNKNOWN, None) if found is None else found[:2]
        if in_idle_task and is_idle(name):
            idle += count
        else:
            rows.setdefault((name, module), Counter())[cpu] += count
    ranked = sorted(rows.items(), key=lambda row: (-row[1].total(), row[0][0]))
    return [[name, module, {str(cpu): per[cpu] for cpu in sorted(per)}] for (name, module), per in ranked], idle


def _symbols(limits: list[str]) -> Symbols | None:
    try:
        return kallsyms.load()
    except SourceError as error:
        limits.append(f"no function has a name: {error}" + (f" ({error.remedy})" if error.remedy else ""))
        return None


def _attribute(kind: int, config: int, frequency_hz: int) -> Attribute:
    return perf_event.attribute(
        kind,
        config,
        sample_period_or_freq=frequency_hz,
        freq=1,
        sample_type=PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU,
        disabled=1,
        watermark=1,
        wakeup_events_or_watermark=1 << 31,  # nobody waits for it
    )

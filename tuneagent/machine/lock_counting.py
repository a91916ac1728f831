"""How often a CPU began to wait for a lock: lock:contention_begin counted by CPU, at 0.15 µs an event.

The counters are opened at the first question and stay open; what they count begins there.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tuneagent.machine import boot_log, cpus, perf_event, tracepoints
from tuneagent.machine.reasons import as_answer_of
from tuneagent.machine.tracepoints import CONTENTION_BEGIN
from tuneagent.model.contention import SpinVisibility
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse import cpuinfo, spinlocks

NAME = "lock-contention"
CPUINFO = "/proc/cpuinfo"
REFUSED_NS = 60 * 10**9
"""How long a refusal is remembered: what is missing may be given, and asking costs a child process."""
STILL_NS = 10**8
"""A counter that ran for less than half of so long a time has lost its CPU meanwhile."""
_FIRST_CPU_BYTES = 1 << 14


@dataclass(slots=True)
class _Counter:
    """The counter of one CPU."""

    file: int
    base: int
    """What the counters before it on this CPU had counted."""
    running_ns: int
    read_ns: int
    events: int = 0


class LockCounting:
    """The counters of one Live."""

    def __init__(self) -> None:
        self._counters: dict[int, _Counter] = {}
        self._bases: dict[int, int] = {}
        self._opened_at_ns = 0
        self._refused: tuple[int, SourceError] | None = None
        self._spin: SpinVisibility | None = None

    def read(self) -> dict[str, Any]:
        """``{"opened_at_ns": ns, "per_cpu": {"0": 123}, "spin": "every"}``; SourceError where nothing is counted.

        A CPU that is offline is left out, and one that was meanwhile is left out once: its waits in between are not
        known.
        """
        self._raise_remembered()
        try:
            return self._read()
        except SourceError as error:
            answer = as_answer_of(NAME, error)
            self._refused = time.monotonic_ns(), answer
            raise answer from None

    def close(self) -> None:
        """Closes the counters; a later question opens others, which begin at 0."""
        for cpu in tuple(self._counters):
            self._drop(cpu)
        self._bases.clear()

    def _raise_remembered(self) -> None:
        if self._refused is None:
            return
        when, error = self._refused
        if time.monotonic_ns() - when < REFUSED_NS:
            raise as_answer_of(NAME, error)
        self._refused = None

    def _read(self) -> dict[str, Any]:
        there = cpus.online()
        gone = [cpu for cpu in self._counters if cpu not in there]
        for cpu in gone:
            self._drop(cpu)
        read = {cpu: self._count(cpu) for cpu in tuple(self._counters)}
        # What begins now is a beginning for those who had no count of that CPU; for others it would be one too low.
        begun = self._open(cpu for cpu in there if cpu not in self._counters)
        counts = {cpu: count for cpu, count in (begun | read).items() if count is not None}
        if not counts:
            raise SourceError(NAME, Reason.UNKNOWABLE, "no CPU's counter stayed where it was")
        if self._spin is None:
            self._spin = spin_visibility()
        per_cpu = {str(cpu): counts[cpu] for cpu in sorted(counts)}
        return {"opened_at_ns": self._opened_at_ns, "per_cpu": per_cpu, "spin": self._spin.value}

    def _open(self, missing: Iterable[int]) -> dict[int, int]:
        """Counters for these CPUs, and what they begin with."""
        wanted: perf_event.Attribute | None = None
        begun: dict[int, int] = {}
        if not self._counters:
            self._opened_at_ns = time.monotonic_ns()
        for cpu in missing:
            if wanted is None:
                wanted = _attribute()
            try:
                file = perf_event.open_on_cpu(NAME, wanted, cpu)
            except SourceError as error:
                if error.reason is Reason.ABSENT and cpu not in cpus.online():
                    continue  # it has just gone
                self.close()
                raise
            begun[cpu] = self._bases.get(cpu, 0)
            self._counters[cpu] = _Counter(file, begun[cpu], 0, time.monotonic_ns())
        return begun

    def _count(self, cpu: int) -> int | None:
        """Of one CPU; None, and its counter is dropped, where it stood still because its CPU was away."""
        counter, now = self._counters[cpu], time.monotonic_ns()
        said = perf_event.count(counter.file)
        if said is None:
            self._drop(cpu)
            return None
        counter.events = said.events
        passed, ran = now - counter.read_ns, said.running_ns - counter.running_ns
        if passed > STILL_NS and ran < passed // 2:
            self._drop(cpu)
            return None
        counter.running_ns, counter.read_ns = said.running_ns, now
        return counter.base + said.events

    def _drop(self, cpu: int) -> None:
        counter = self._counters.pop(cpu)
        self._bases[cpu] = counter.base + counter.events
        os.close(counter.file)


def spin_visibility() -> SpinVisibility:
    """Which waits for spinlocks are counted here (tuneagent.parse.spinlocks)."""
    try:
        with open(CPUINFO, encoding="ascii", errors="replace") as file:
            hypervisor = cpuinfo.parse(file.read(_FIRST_CPU_BYTES))
    except (OSError, ValueError):
        hypervisor = None
    log = boot_log.read() if hypervisor else None
    return spinlocks.visibility(platform.machine(), hypervisor=hypervisor, boot_log=log)


def _attribute() -> perf_event.Attribute:
    found = tracepoints.needed(CONTENTION_BEGIN)
    return perf_event.attribute(perf_event.PERF_TYPE_TRACEPOINT, found.id, read_format=perf_event.COUNTED)

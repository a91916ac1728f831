"""Each wait for a lock within a bounded time, with the kernel's stack, and the interrupts and packets around it.

On each CPU the events of one group write into one ring, which a thread empties. Recording is bounded by time and by
bytes: where more happens than fits, it goes on in windows that are spread over the time, and says so. It costs nothing
between two windows, and ends with the process.
"""

from __future__ import annotations

import os
import select
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from tuneagent.machine import cpus, perf_event, tracepoints
from tuneagent.machine.lock_packets import EVENT, SHARE, Packets
from tuneagent.machine.lock_record import Window, value
from tuneagent.machine.perf_event import (
    PERF_FORMAT_GROUP,
    PERF_FORMAT_ID,
    PERF_SAMPLE_CALLCHAIN,
    PERF_SAMPLE_CPU,
    PERF_SAMPLE_IDENTIFIER,
    PERF_SAMPLE_RAW,
    PERF_SAMPLE_TID,
    PERF_SAMPLE_TIME,
    PERF_TYPE_TRACEPOINT,
)
from tuneagent.machine.perf_ring import Ring, size_for
from tuneagent.machine.reasons import as_answer_of
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse.tracepoint_format import Format

NAME = "lock-record"
MOST_SECONDS = 60.0
MOST_BYTES = 5 * 1024 * 1024
"""Of all records: about 50,000 where half of them have stacks."""
BURST = 1 / 8
"""The part of them that may come at once; the rest is let in evenly over the time."""
RING_BYTES = 512 * 1024
"""A CPU's: what perf_event_mlock_kb allows by default."""
ALL_RINGS_BYTES = 32 * 1024 * 1024
MAX_STACK = 24
MAX_STACK_SYSCTL = "/proc/sys/kernel/perf_event_max_stack"
STOPPING_S = 5.0
LEAST_WAKE_BYTES = 4096
_POLL_MS = 50.0
"""The kernel wakes us when a part has come; on a busy machine that is too late, or is itself among what is lost."""
_SAMPLE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW


@dataclass(slots=True)
class _Cpu:
    """The events of one CPU."""

    cpu: int
    files: list[int]
    """Of the group; the first leads it and owns the ring."""
    ring: Ring
    ids: dict[int, str]
    """Names of the events by the kernel's ids."""
    counted: int = 0
    """Events of the group before the window that is open."""
    taken: list[bytes] = field(default_factory=list)


class LockRecorder:
    """The recording of one Live, if there is one."""

    def __init__(self) -> None:
        self._recording: LockRecording | SourceError | None = None

    def start(self, seconds: float) -> None:
        """Begins one, in place of what was not read. A refusal is the answer of read()."""
        self.close()
        try:
            self._recording = LockRecording(seconds)
        except SourceError as error:
            self._recording = as_answer_of(NAME, error)

    def read(self) -> dict[str, Any]:
        """What was recorded since start(), once. SourceError: ABSENT where nothing was, or why it could not be."""
        recording, self._recording = self._recording, None
        if recording is None:
            raise SourceError(NAME, Reason.ABSENT, "not recorded")
        if isinstance(recording, SourceError):
            raise recording
        return recording.value()

    def close(self) -> None:
        """Ends one that runs."""
        recording, self._recording = self._recording, None
        if isinstance(recording, LockRecording):
            recording.stop()


class LockRecording:
    """Records from its start until the time is over, or until it is read."""

    def __init__(self, seconds: float) -> None:
        """Opens the events and starts; SourceError where they are refused."""
        self.seconds = min(seconds, MOST_SECONDS)
        self._formats, self._limits = _formats()
        self._stop = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._cpus: list[_Cpu] = []
        self._packets = Packets()
        self._windows: list[Window] = []
        self._watched: list[tuple[int, int]] = []
        self._used = 0
        self._closed_early = False
        self._cpu_s = 0.0
        self._failure: OSError | None = None
        self._recorded = threading.Event()
        self._made: dict[str, Any] | None = None
        try:
            self._open()
        except BaseException:
            self._close()
            os.close(self._stop)
            raise
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="lock-record", daemon=True)
        self._thread.start()

    def value(self) -> dict[str, Any]:
        """Ends the recording and gives what it holds, as the captured source ``lock-record`` is described."""
        self.stop()
        self._thread.join()
        if self._failure is not None:
            raise perf_event.refused(NAME, self._failure)
        return self._made or self._value()

    def _value(self) -> dict[str, Any]:
        began = time.thread_time()
        found = value(self._windows, self._formats)
        return found | {
            "seconds": self._seconds,
            "watched_s": min(self._watched_s, self._seconds) if self._closed_early else None,
            "truncated": found["truncated"] or self._closed_early,
            "limits": [*self._limits, *self._window_limits(), *self._packet_limits(), *found["limits"]],
            "cpu_s": self._cpu_s + time.thread_time() - began,
        }

    def stop(self) -> None:
        """Ends it, if the time has not. What was recorded stays; what the kernel held is given back."""
        if self._stop < 0:
            return
        os.eventfd_write(self._stop, 1)
        if self._recorded.wait(STOPPING_S):
            os.close(self._stop)
            self._stop = -1

    @property
    def _seconds(self) -> float:
        return min(self.seconds, self._watched[-1][1] / 1e9 - self._began) if self._watched else 0.0

    @property
    def _watched_s(self) -> float:
        return sum(ended - began for began, ended in self._watched) / 1e9

    def _packet_limits(self) -> list[str]:
        if not self._packets.left_out:
            return []
        spans = f"{self._packets.recorded_s:.3f} of {self._seconds:.3f} s"
        return [f"packets are too many to be recorded all the time: for {spans}; some transmit locks may lack a device"]

    def _window_limits(self) -> list[str]:
        if not self._closed_early:
            return []
        spans = f"watched for {self._watched_s:.3f} of {self._seconds:.3f} s, in {len(self._watched)} windows"
        return [f"more happened than is recorded: {spans}; a wait that is not within one of them is not timed"]

    def _open(self) -> None:
        there = cpus.online()
        size = size_for(len(there), RING_BYTES, ALL_RINGS_BYTES)
        wake = min(size // 2, max(LEAST_WAKE_BYTES, int(MOST_BYTES * BURST * SHARE) // max(1, len(there))))
        for cpu in there:
            self._open_cpu(cpu, size, wake)

    def _open_cpu(self, cpu: int, size: int, wake: int) -> None:
        files: list[int] = []
        try:
            for name, found in self._formats.items():
                stacks = name == tracepoints.CONTENTION_BEGIN.name
                wanted = _attribute(found.id, leads=not files, stacks=stacks, wake=wake)
                files.append(perf_event.open_on_cpu(NAME, wanted, cpu, files[0] if files else -1))
            ring = Ring(NAME, files[0], size)
            for file in files[1:]:
                perf_event.output_to(file, ring.file)
        except SourceError as error:
            _close_all(files)
            if error.reason is Reason.ABSENT and cpu not in cpus.online():
                return  # it has just gone
            raise
        ids = dict(zip(perf_event.grouped(files[0], len(files)), self._formats, strict=False))
        self._cpus.append(_Cpu(cpu, files, ring, ids))
        for file, (event_id, name) in zip(files, ids.items(), strict=False):
            if name == EVENT:
                self._packets.add(files[0], len(files), event_id, file)

    def _run(self) -> None:
        stopped = True
        try:
            stopped = self._record()
        except OSError as error:
            self._failure = error
        finally:
            self._cpu_s = time.thread_time()
            self._recorded.set()
            self._close()
        if not stopped:
            self._made = self._value()  # now, while nobody waits for it

    def _record(self) -> bool:
        """Until the time is over; whether it was stopped before."""
        end = self._began + self.seconds
        poll = select.poll()
        poll.register(self._stop, select.POLLIN)
        for one in self._cpus:
            poll.register(one.files[0], select.POLLIN)
        while (now := time.monotonic()) < end and self._used < MOST_BYTES:
            began_ns = self._let_in()
            stopped = self._watch(poll, end)
            self._shut(began_ns)
            if stopped or self._pause(end):
                return True
        self._closed_early |= now < end
        return False

    def _let_in(self) -> int:
        for one in self._cpus:
            perf_event.enable(one.files[0])
        began_ns = time.monotonic_ns()
        self._packets.let_in(began_ns)
        return began_ns

    def _watch(self, poll: select.poll, end: float) -> bool:
        """Takes what comes until the time is over or more than its share has come; whether it was stopped."""
        while (left := end - time.monotonic()) > 0:
            for file, event in poll.poll(min(left * 1000, _POLL_MS)):
                if file == self._stop:
                    return True
                if not event & select.POLLIN:
                    poll.unregister(file)  # its CPU has gone: it would be ready for ever
            for one in self._cpus:
                if one.ring.waiting * 2 >= one.ring.size:
                    self._take(one)
            came, allowed = self._used + sum(one.ring.waiting for one in self._cpus), self._share()
            self._packets.weigh(came, allowed, time.monotonic_ns())
            if came > allowed:
                self._closed_early = True
                return False
        return False

    def _share(self) -> float:
        """Bytes that may have come by now."""
        return MOST_BYTES * (BURST + (1 - BURST) * min(1.0, (time.monotonic() - self._began) / self.seconds))

    def _shut(self, began_ns: int) -> None:
        for one in self._cpus:
            perf_event.disable(one.files[0])
        ended_ns = time.monotonic_ns()
        self._watched.append((began_ns, ended_ns))
        self._packets.shut(ended_ns)
        for one in self._cpus:
            self._take(one)
            counted = sum(perf_event.grouped(one.files[0], len(one.files)).values())
            self._windows.append(
                Window(one.cpu, began_ns, ended_ns, b"".join(one.taken), one.ids, counted - one.counted)
            )
            one.counted, one.taken = counted, []

    def _take(self, one: _Cpu) -> None:
        data = one.ring.take()
        self._used += len(data)
        one.taken.append(data)

    def _pause(self, end: float) -> bool:
        """Waits until more may come; whether it was stopped meanwhile."""
        while (now := time.monotonic()) < end and self._used > self._share():
            over = (self._used - self._share()) / MOST_BYTES * self.seconds / (1 - BURST)
            ready, _, _ = select.select([self._stop], [], [], max(0.001, min(over, end - now)))
            if ready:
                return True
        return False

    def _close(self) -> None:
        for one in self._cpus:
            one.ring.close()
            _close_all(one.files)
        self._cpus.clear()


def _formats() -> tuple[dict[str, Format], list[str]]:
    """The tracepoints to record, contention_begin first, and what is not there; SourceError without that one."""
    found = {tracepoints.CONTENTION_BEGIN.name: tracepoints.needed(tracepoints.CONTENTION_BEGIN)}
    limits = []
    for name, one in tracepoints.formats().items():
        if isinstance(one, SourceError):
            limits.append(f"no {name} is recorded: {one.detail}")
        else:
            found[name] = one
    return found, limits


def _attribute(config: int, *, leads: bool, stacks: bool, wake: int) -> perf_event.Attribute:
    return perf_event.attribute(
        PERF_TYPE_TRACEPOINT,
        config,
        sample_period_or_freq=1,
        sample_type=_SAMPLE | (PERF_SAMPLE_CALLCHAIN if stacks else 0),
        read_format=PERF_FORMAT_GROUP | PERF_FORMAT_ID,
        disabled=int(leads),
        comm=int(leads),
        watermark=1,
        wakeup_events_or_watermark=wake,
        sample_id_all=1,
        exclude_callchain_user=1,
        sample_max_stack=_max_stack() if stacks else 0,
        use_clockid=1,
        clockid=time.CLOCK_MONOTONIC,
    )


def _max_stack() -> int:
    try:
        with open(MAX_STACK_SYSCTL, encoding="ascii") as file:
            return min(MAX_STACK, int(file.read(32)))
    except (OSError, ValueError):
        return 0  # the kernel's own limit


def _close_all(files: list[int]) -> None:
    for file in reversed(files):
        os.close(file)

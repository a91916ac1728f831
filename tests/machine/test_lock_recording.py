"""Waits for locks recorded on this kernel under a load that makes them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.machine.contending import load, needs_counting
from tuneagent.machine import lock_recording
from tuneagent.machine.live import Live
from tuneagent.machine.lock_recording import LockRecorder, LockRecording
from tuneagent.machine.perf_ring import size_for
from tuneagent.model.contention import LockRecord
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse.lock_record import parse


def total(source: Live) -> int:
    return sum(source.captured("lock-contention").value["per_cpu"].values())


def begins(record: LockRecord) -> int:
    return sum(event.kind == "contention_begin" for event in record.events)


@needs_counting
def test_what_is_recorded_is_what_is_counted() -> None:
    source = Live()
    total(source)
    with load(2, pause_s=0.01):
        around = total(source)
        source.record_locks(1.0)
        within = total(source)
        time.sleep(0.7)
        least = total(source) - within
        record = parse(source.captured("lock-record").value)
        most = total(source) - around
    source.close()
    if record.truncated:
        pytest.skip(f"too much else happens here: {record.limits}")
    # What the kernel counted and did not record is told; the counters of two CPUs are not read in one moment.
    assert 0 < begins(record) <= most
    assert begins(record) + record.lost >= least * 0.9
    assert record.throttled == 0


@needs_counting
def test_stacks_tasks_and_times() -> None:
    source = Live()
    before = time.monotonic_ns()
    with load():
        source.record_locks(5.0)
        time.sleep(0.6)
        record = parse(source.captured("lock-record").value)
    after = time.monotonic_ns()
    source.close()
    assert 0 < record.seconds <= (after - before) / 1e9
    assert all(before <= event.time_ns <= after for event in record.events)
    stacks = [record.stacks[event.stack] for event in record.events if event.stack is not None]
    assert all(len(stack) <= lock_recording.MAX_STACK for stack in stacks)
    named = [{frame.symbol for frame in stack} for stack in stacks]
    if any("no function has a name" in limit for limit in record.limits):
        pytest.skip(record.limits[0])
    assert any("do_sys_openat2" in names or "do_unlinkat" in names for names in named)
    assert set(record.tasks.values()) & {"python", Path(sys.executable).name[:15]}
    assert record.cpu_s > 0


@needs_counting
def test_the_bound_on_bytes_closes_windows_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_recording, "MOST_BYTES", 64 * 1024)
    monkeypatch.setattr(lock_recording, "RING_BYTES", 32 * 1024)
    with load():
        recording = LockRecording(0.8)
        time.sleep(1)
        found = recording.value()
    assert found["truncated"]
    assert 0 < found["watched_s"] < found["seconds"]
    assert "more happened than is recorded: watched for" in " ".join(found["limits"])
    rings = 2 * 32 * 1024 * (os.cpu_count() or 1)
    assert recording._used <= 64 * 1024 + rings  # noqa: SLF001 - the bound is on bytes, events only follow


@needs_counting
def test_nothing_stays_open() -> None:
    before = sorted(Path("/proc/self/fd").iterdir())
    recorder = LockRecorder()
    recorder.start(30.0)
    recorder.start(30.0)
    recorder.close()
    for thread in threading.enumerate():
        if thread.name == "lock-record":
            thread.join(10)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


@needs_counting
def test_the_interpreter_ends_while_it_records() -> None:
    code = "from tuneagent.machine.live import Live\nsource = Live()\nsource.record_locks(60)"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_nothing_was_recorded() -> None:
    with pytest.raises(SourceError) as caught:
        Live().captured("lock-record")
    assert (caught.value.reason, caught.value.detail) == (Reason.ABSENT, "not recorded")


@needs_counting
def test_a_record_is_given_once() -> None:
    source = Live()
    source.record_locks(0.05)
    parse(source.captured("lock-record").value)
    with pytest.raises(SourceError) as caught:
        source.captured("lock-record")
    assert caught.value.detail == "not recorded"


def test_why_nothing_could_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuneagent.machine.cpus.ONLINE", "/none")
    source = Live()
    source.record_locks(1)
    with pytest.raises(SourceError) as caught:
        source.captured("lock-record")
    assert caught.value.source == "lock-record"
    assert caught.value.detail != "not recorded"


@pytest.mark.parametrize(
    ("cpus", "size"),
    [(1, 512 * 1024), (64, 512 * 1024), (65, 256 * 1024), (256, 128 * 1024), (8192, 32 * 1024), (0, 512 * 1024)],
)
def test_rings_are_smaller_where_there_are_more(cpus: int, size: int) -> None:
    assert size_for(cpus, 512 * 1024, 32 * 1024 * 1024) == size

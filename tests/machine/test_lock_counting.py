"""Waits for locks counted by CPU, against what perf counts of the same time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.machine.contending import load, needs_counting, perf_counts
from tuneagent.machine import lock_counting, perf_event
from tuneagent.machine.live import Live
from tuneagent.machine.lock_counting import LockCounting
from tuneagent.machine.perf_event import Counted
from tuneagent.model.contention import SpinVisibility
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse import lock_contention


def since(counting: LockCounting, earlier: dict[str, int]) -> int:
    return sum(count - earlier[cpu] for cpu, count in counting.read()["per_cpu"].items())


@needs_counting
def test_what_perf_counts_lies_between_two_readings_around_it_and_two_within() -> None:
    counting = LockCounting()
    counting.read()
    with load():
        around = counting.read()["per_cpu"]
        with perf_counts() as counts:
            within = counting.read()["per_cpu"]
            time.sleep(1)
            least = since(counting, within)
        most = since(counting, around)
    assert 0 < least <= sum(counts.values()) <= most


@needs_counting
def test_the_counters_of_a_machine_are_opened_once() -> None:
    source = Live()
    before = source.captured("lock-contention").value
    with load():
        time.sleep(0.5)
    after = source.captured("lock-contention").value
    source.close()
    assert before["opened_at_ns"] == after["opened_at_ns"]
    assert set(before["per_cpu"].values()) == {0}
    assert before["per_cpu"].keys() == after["per_cpu"].keys()
    assert sum(after["per_cpu"].values()) > 0
    online = Path("/sys/devices/system/cpu/online").read_text().strip()
    assert str(CpuSet.of(lock_contention.parse(after).per_cpu)) == online


@needs_counting
def test_nothing_stays_open() -> None:
    before = sorted(Path("/proc/self/fd").iterdir())
    counting = LockCounting()
    counting.read()
    assert len(list(Path("/proc/self/fd").iterdir())) > len(before)
    counting.close()
    assert sorted(Path("/proc/self/fd").iterdir()) == before


@needs_counting
def test_without_the_right_to_count() -> None:
    code = (
        "import os, sys\n"
        "from tuneagent.machine import tracepoints\n"
        "tracepoints.formats()\n"
        "os.setuid(65534)\n"
        "from tuneagent.machine.lock_counting import *\n"
        "try:\n LockCounting().read()\n"
        "except SourceError as error:\n print(error.source, error.reason, error.detail, error.remedy, sep='|')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    source, reason, detail, remedy = done.stdout.strip().split("|")
    assert (source, reason) == ("lock-contention", "permission")
    paranoid = Path(perf_event.PARANOID).read_text().strip()
    assert f"without CAP_PERFMON, and perf_event_paranoid is {paranoid}" in detail
    assert "CAP_PERFMON" in remedy


class Machine:
    """CPUs that come and go, and counters that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.online = CpuSet.of([0, 2])
        self.counts: dict[int, Counted | None] = {}
        self.now = 10**12
        self.opened: list[int] = []
        self._files: dict[int, int] = {}
        monkeypatch.setattr("tuneagent.machine.cpus.online", lambda: self.online)
        monkeypatch.setattr("tuneagent.machine.perf_event.open_on_cpu", self._open)
        monkeypatch.setattr("tuneagent.machine.perf_event.count", lambda file: self.counts[self._files[file]])
        monkeypatch.setattr("time.monotonic_ns", lambda: self.now)
        monkeypatch.setattr(lock_counting, "spin_visibility", lambda: SpinVisibility.NONE)
        monkeypatch.setattr(lock_counting, "_attribute", lambda: None)

    def _open(self, source: str, wanted: Any, cpu: int) -> int:
        assert (source, wanted) == ("lock-contention", None)
        if cpu not in self.online:
            raise SourceError(source, Reason.ABSENT, "not online")
        self.opened.append(cpu)
        file = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        self._files[file] = cpu
        return file

    def tell(self, passed_ns: int, **counts: tuple[int, int]) -> None:
        """What the counters say after so much time: events and running ns by CPU, ``cpu2=(…)``."""
        self.now += passed_ns
        self.counts = {int(cpu[3:]): Counted(events, ran, ran) for cpu, (events, ran) in counts.items()}


SECOND = 10**9


def test_a_cpu_that_goes_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, counting = Machine(monkeypatch), LockCounting()
    assert counting.read() == {"opened_at_ns": 10**12, "per_cpu": {"0": 0, "2": 0}, "spin": "none"}
    machine.tell(SECOND, cpu0=(11, SECOND), cpu2=(22, SECOND))
    assert counting.read()["per_cpu"] == {"0": 11, "2": 22}
    machine.online = CpuSet.of([0])
    machine.tell(SECOND, cpu0=(13, 2 * SECOND))
    assert counting.read()["per_cpu"] == {"0": 13}
    machine.online = CpuSet.of([0, 2, 5])
    machine.tell(SECOND, cpu0=(17, 3 * SECOND))
    assert counting.read() == {"opened_at_ns": 10**12, "per_cpu": {"0": 17, "2": 22, "5": 0}, "spin": "none"}
    machine.tell(SECOND, cpu0=(19, 4 * SECOND), cpu2=(3, SECOND), cpu5=(1, SECOND))
    assert counting.read()["per_cpu"] == {"0": 19, "2": 25, "5": 1}
    assert machine.opened == [0, 2, 2, 5]
    counting.close()


def test_a_cpu_that_was_away_between_two_readings_is_left_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, counting = Machine(monkeypatch), LockCounting()
    counting.read()
    machine.tell(SECOND, cpu0=(11, SECOND), cpu2=(22, SECOND // 4))
    assert counting.read()["per_cpu"] == {"0": 11}
    machine.tell(SECOND, cpu0=(12, 2 * SECOND), cpu2=(4, SECOND))
    assert counting.read()["per_cpu"] == {"0": 12, "2": 26}
    counting.close()


def test_a_counter_in_error(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, counting = Machine(monkeypatch), LockCounting()
    counting.read()
    machine.tell(1, cpu0=(11, 1), cpu2=(0, 1))
    machine.counts[2] = None
    assert counting.read()["per_cpu"] == {"0": 11}
    assert machine.opened == [0, 2, 2]
    counting.close()


def test_a_cpu_that_goes_while_its_counter_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, counting = Machine(monkeypatch), LockCounting()
    answers = iter([CpuSet.of([0, 3]), CpuSet.of([0])])
    monkeypatch.setattr("tuneagent.machine.cpus.online", lambda: next(answers))
    machine.online = CpuSet.of([0])
    assert counting.read()["per_cpu"] == {"0": 0}
    counting.close()


def test_a_refusal_is_remembered_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, counting = Machine(monkeypatch), LockCounting()
    asked: list[int] = []

    def refuse(source: str, *_: object) -> int:
        asked.append(1)
        raise SourceError(source, Reason.PERMISSION, "no", "be root")

    monkeypatch.setattr("tuneagent.machine.perf_event.open_on_cpu", refuse)
    for passed, times in ((0, 1), (SECOND, 1), (60 * SECOND, 2)):
        machine.now += passed
        with pytest.raises(SourceError) as caught:
            counting.read()
        assert (caught.value.source, caught.value.detail, caught.value.remedy) == ("lock-contention", "no", "be root")
        assert len(asked) == times

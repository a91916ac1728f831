"""Waits for locks as a tree shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observe.looking import Refusing, gaps_at, look, put
from tests.trees import Guest
from tuneagent.machine.recording import Recording
from tuneagent.machine.replay import Replay
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.contention import SpinVisibility
from tuneagent.model.missing import Reason
from tuneagent.observe import snapshot
from tuneagent.observe.contention import COUNTS, NO_CLASS, OFF, RECORD, SWITCH, TABLE

HEAD = """lock_stat version 0.4
-----------------------------------------------------------
class name con-bounces contentions waittime-min waittime-max waittime-total waittime-avg acq-bounces acquisitions \
holdtime-min holdtime-max holdtime-total holdtime-avg
-----------------------------------------------------------

"""
CLASS = "&irq_desc_lock_class:  1100 1200 0.12 35.50 5400.25 4.50 64000 98000 0.05 21.75 41000.50 0.42\n"
EVENT = ["contention_begin", 1_001, 1, 101, 7, 1, None, None, None]


READ_AT = {COUNTS: 6_001, RECORD: 6_002, TABLE: 6_003}


def machine(root: Path) -> Path:
    Guest(cpus=2, queues=2).write(root)
    times = {"monotonic_ns": 5, "boottime_ns": 6, "realtime_ns": 7, "read_at_ns": READ_AT}
    put(root, "/captured/clock.json", json.dumps(times))
    return root


def record(root: Path, **changes: object) -> None:
    value = {"seconds": 1.5, "events": [EVENT], "stacks": [], "tasks": {}, "lost": 2, "throttled": 3, "cpu_s": 0.25}
    put(root, f"/captured/{RECORD}.json", json.dumps(value | {"truncated": False, "limits": []} | changes))


def test_waits_are_counted_by_cpu(tmp_path: Path) -> None:
    value = {"opened_at_ns": 5, "per_cpu": {"0": 11, "1": 23}, "spin": "none"}
    put(machine(tmp_path), f"/captured/{COUNTS}.json", json.dumps(value))
    seen = look(tmp_path)
    assert seen.contention is not None
    assert (seen.contention.per_cpu, seen.contention.opened_at_ns) == ({0: 11, 1: 23}, 5)
    assert seen.contention.spin is SpinVisibility.NONE
    assert seen.contention.read_at_ns == READ_AT[COUNTS]
    assert gaps_at(seen, COUNTS) == []


def test_what_is_not_counted_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    machine(tmp_path)
    (tmp_path / f"captured/{COUNTS}.json").unlink()
    seen = look(tmp_path)
    assert seen.contention is None
    assert [(gap.what, gap.reason) for gap in gaps_at(seen, COUNTS)] == [("contention", Reason.NOT_CAPTURED)]
    refused = snapshot(Refusing(tmp_path, COUNTS))
    assert [(gap.what, gap.reason) for gap in gaps_at(refused, COUNTS)] == [("contention", Reason.PERMISSION)]


def test_a_record_that_nobody_asked_for_is_no_gap(tmp_path: Path) -> None:
    seen = look(machine(tmp_path))
    assert seen.lock_record is None
    assert gaps_at(seen, RECORD) == []


def test_a_record_is_read(tmp_path: Path) -> None:
    record(machine(tmp_path))
    seen = look(tmp_path)
    assert seen.lock_record is not None
    assert (seen.lock_record.seconds, len(seen.lock_record.events), seen.lock_record.lost) == (1.5, 1, 2)
    assert seen.lock_record.read_at_ns == READ_AT[RECORD]


def test_a_record_that_failed_is_a_gap(tmp_path: Path) -> None:
    seen = snapshot(Refusing(machine(tmp_path), RECORD))
    assert seen.lock_record is None
    assert [(gap.what, gap.reason) for gap in gaps_at(seen, RECORD)] == [("lock_record", Reason.PERMISSION)]


def test_a_record_that_is_not_understood_is_a_gap_with_its_place(tmp_path: Path) -> None:
    record(machine(tmp_path), events=[EVENT, []])
    seen = look(tmp_path)
    assert seen.lock_record is None
    assert [gap.detail for gap in gaps_at(seen, RECORD)] == ["$.events[1]: not an array of 9"]


def test_most_kernels_have_no_table_of_locks(tmp_path: Path) -> None:
    seen = look(machine(tmp_path))
    assert seen.lock_stat is None
    assert gaps_at(seen, TABLE) == []


def test_a_look_that_never_asked_for_it_is_no_gap(tmp_path: Path) -> None:
    recording = Recording(Sysroot(str(machine(tmp_path))))
    snapshot(recording)
    sample = recording.sample()
    del sample["files"][TABLE], sample["captured"][RECORD]
    seen = snapshot(Replay(sample))
    assert (gaps_at(seen, TABLE), gaps_at(seen, RECORD)) == ([], [])


@pytest.mark.parametrize(("switch", "enabled"), [("1\n", True), (None, None)])
def test_the_table_of_locks_is_read(tmp_path: Path, switch: str | None, *, enabled: bool | None) -> None:
    put(machine(tmp_path), TABLE, HEAD + CLASS)
    if switch is not None:
        put(tmp_path, SWITCH, switch)
    seen = look(tmp_path)
    assert seen.lock_stat is not None
    assert (seen.lock_stat.enabled, [one.name for one in seen.lock_stat.classes]) == (enabled, ["&irq_desc_lock_class"])
    assert seen.lock_stat.read_at_ns == READ_AT[TABLE]
    assert gaps_at(seen, TABLE) == []


@pytest.mark.parametrize("rows", ["", CLASS], ids=["zeros", "old values"])
def test_a_table_that_is_switched_off_says_nothing_and_how_to_switch_it_on(tmp_path: Path, rows: str) -> None:
    put(machine(tmp_path), TABLE, HEAD + rows)
    put(tmp_path, SWITCH, "0\n")
    seen = look(tmp_path)
    assert seen.lock_stat is None
    (gap,) = gaps_at(seen, TABLE)
    assert (gap.what, gap.reason, gap.detail) == ("lock_stat", Reason.UNKNOWABLE, OFF)
    assert gap.remedy is not None
    assert "kernel.lock_stat=1" in gap.remedy
    assert (tmp_path / SWITCH.lstrip("/")).read_text() == "0\n"


def test_a_table_without_classes_does_not_say_that_nobody_waits(tmp_path: Path) -> None:
    put(machine(tmp_path), TABLE, HEAD)
    put(tmp_path, SWITCH, "1\n")
    seen = look(tmp_path)
    assert seen.lock_stat is None
    assert [(gap.reason, gap.detail) for gap in gaps_at(seen, TABLE)] == [(Reason.EMPTY, NO_CLASS)]


def test_a_table_that_may_not_be_read_is_a_gap(tmp_path: Path) -> None:
    put(machine(tmp_path), TABLE, HEAD + CLASS)
    seen = snapshot(Refusing(tmp_path, TABLE))
    assert seen.lock_stat is None
    assert [(gap.what, gap.reason) for gap in gaps_at(seen, TABLE)] == [("lock_stat", Reason.PERMISSION)]


def test_a_table_that_is_not_understood_is_a_gap_with_its_line(tmp_path: Path) -> None:
    put(machine(tmp_path), TABLE, "something\n")
    seen = look(tmp_path)
    assert seen.lock_stat is None
    assert [(gap.what, gap.line) for gap in gaps_at(seen, TABLE)] == [("lock_stat", 1)]

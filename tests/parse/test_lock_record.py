from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.contention import Frame, LockEvent, LockRecord
from tuneagent.model.errors import ParseError
from tuneagent.parse import lock_record
from tuneagent.parse.lock_record import parse

BEGIN = ["contention_begin", 1_001, 1, 101, 0xFFFF_8881_00A5_E0A4, 1, None, None, 1]
END = ["contention_end", 1_902, 1, 101, 0xFFFF_8881_00A5_E0A4, None, None, None, None]
ENTRY = ["irq_handler_entry", 2_003, 0, 0, None, None, 31, None, None]
SENT = ["net_dev_start_xmit", 3_004, 2, 103, None, None, None, "eth0", None]
RECORD: dict[str, Any] = {
    "seconds": 2,
    "events": [BEGIN, END, ENTRY, SENT],
    "stacks": [[], [["_raw_spin_lock", None, 16], [None, None, None], ["vhost_work", "vhost", 7]]],
    "tasks": {"101": "server", "0": "swapper/0"},
    "lost": 4,
    "throttled": 5,
    "truncated": True,
    "cpu_s": 0.25,
    "limits": ["user stacks are not recorded"],
    "watched_s": 0.75,
}


def test_reads_events_stacks_and_tasks() -> None:
    stack = (Frame("_raw_spin_lock", None, 16), Frame(None, None, None), Frame("vhost_work", "vhost", 7))
    assert parse(RECORD) == LockRecord(
        seconds=2.0,
        events=(
            LockEvent("contention_begin", 1_001, 1, 101, 0xFFFF_8881_00A5_E0A4, 1, None, None, 1),
            LockEvent("contention_end", 1_902, 1, 101, 0xFFFF_8881_00A5_E0A4, None, None, None, None),
            LockEvent("irq_handler_entry", 2_003, 0, 0, None, None, 31, None, None),
            LockEvent("net_dev_start_xmit", 3_004, 2, 103, None, None, None, "eth0", None),
        ),
        stacks=((), stack),
        tasks={101: "server", 0: "swapper/0"},
        lost=4,
        throttled=5,
        truncated=True,
        cpu_s=0.25,
        limits=("user stacks are not recorded",),
        read_at_ns=None,
        watched_s=0.75,
    )


def event(*changes: tuple[int, Any], of: list[Any] = BEGIN) -> dict[str, Any]:
    changed = list(of)
    for place, value in changes:
        changed[place] = value
    return {"events": [END, changed]}


def test_flags_and_stack_may_be_unknown() -> None:
    told = parse(RECORD | event((5, None), (8, None))).events[1]
    assert (told.flags, told.stack) == (None, None)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"seconds": -1}, "$.seconds:"),
        ({"seconds": float("nan")}, "$.seconds:"),
        ({"seconds": 10**400}, "$.seconds:"),
        ({"seconds": True}, "$.seconds:"),
        ({"watched_s": "0.5"}, "$.watched_s:"),
        ({"cpu_s": "1"}, "$.cpu_s:"),
        ({"lost": None}, "$.lost:"),
        ({"throttled": 1.5}, "$.throttled:"),
        ({"truncated": 0}, "$.truncated:"),
        ({"limits": "x"}, "$.limits:"),
        ({"limits": ["\x1b[31m"]}, "$.limits[0]:"),
        ({"limits": ["x"] * 65}, "$.limits:"),
        ({"tasks": {"-1": "x"}}, "$.tasks['-1']:"),
        ({"tasks": {"7": "\x00"}}, "$.tasks['7']:"),
        ({"events": {}}, "$.events:"),
        ({"events": [END, []]}, "$.events[1]: not an array of 9"),
        ({"events": [END, BEGIN[:8]]}, "$.events[1]: not an array of 9"),
        (event((0, "sched_switch")), "$.events[1][0]: 'sched_switch' is no kind"),
        (event((0, ["contention_begin"])), "$.events[1][0]: this is no kind"),
        (event((1, 2**64)), "$.events[1][1]:"),
        (event((2, 8_192)), "$.events[1][2]:"),
        (event((3, 2**32)), "$.events[1][3]:"),
        (event((4, None)), "$.events[1][4]:"),
        (event((5, -1)), "$.events[1][5]:"),
        (event((8, 2)), "$.events[1][8]:"),
        (event((6, None), of=ENTRY), "$.events[1][6]:"),
        (event((7, None), of=SENT), "$.events[1][7]:"),
        (event((7, "x" * 513), of=SENT), "$.events[1][7]:"),
        ({"stacks": [[], {}]}, "$.stacks[1]:"),
        ({"stacks": [[], [["a", None]]]}, "$.stacks[1][0]:"),
        ({"stacks": [[], [["a", None, 1], [7, None, 1]]]}, "$.stacks[1][1][0]:"),
        ({"stacks": [[], [["a", "\n", 1]]]}, "$.stacks[1][0][1]:"),
        ({"stacks": [[], [["a", None, -1]]]}, "$.stacks[1][0][2]:"),
        ({"stacks": [[], [["a", None, 1]] * 257]}, "$.stacks[1]:"),
    ],
)
def test_a_fault_is_named_with_its_path(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(RECORD | changes)
    assert str(caught.value).startswith(path)


def test_events_and_frames_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_record, "MAX_EVENTS", 3)
    with pytest.raises(ParseError, match="more than 3 elements"):
        parse(RECORD)
    monkeypatch.setattr(lock_record, "MAX_EVENTS", 4)
    monkeypatch.setattr(lock_record, "MAX_FRAMES", 2)
    with pytest.raises(ParseError, match="more than 2 frames in all"):
        parse(RECORD)


@pytest.mark.parametrize(
    "fields", [RECORD | {"watched_s": None}, {key: RECORD[key] for key in RECORD if key != "watched_s"}]
)
def test_a_time_that_was_watched_as_a_whole(fields: dict[str, Any]) -> None:
    assert parse(fields).watched_s is None

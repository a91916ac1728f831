"""From the kernel's records to the captured source: what is kept, what is lost, and what is not timed."""

from __future__ import annotations

import os
import struct
from typing import Any

import pytest

from tests.parse.perf_bytes import comm, lost, throttled, traced
from tuneagent.machine import lock_record
from tuneagent.machine.kallsyms import Symbols
from tuneagent.machine.lock_record import Window, value
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse.lock_record import parse
from tuneagent.parse.tracepoint_format import Field, Format

BEGIN, END, ENTRY, EXIT, TRANSMIT = 51, 52, 53, 54, 55
IDS = {
    BEGIN: "contention_begin",
    END: "contention_end",
    ENTRY: "irq_handler_entry",
    EXIT: "irq_handler_exit",
    TRANSMIT: "net_dev_start_xmit",
}
LOCK = {"lock_addr": Field(8, 8, signed=False, string=False), "flags": Field(16, 4, signed=False, string=False)}
IRQ = {"irq": Field(8, 4, signed=True, string=False)}
NAME = {"name": Field(8, 4, signed=False, string=True)}
FIELDS = (LOCK, LOCK, IRQ, IRQ, NAME)
FORMATS = {name: Format(name, 1, fields) for name, fields in zip(IDS.values(), FIELDS, strict=True)}
A, B = 0xFFFF888100000040, 0xFFFF888100000080
SPIN, MUTEX = 1, 32
STACK = (2**64 - 128, 0xFFFFFFFF81000010)


def begin(tid: int, time_ns: int, address: int = A, flags: int = SPIN, cpu: int = 0) -> bytes:
    return traced(BEGIN, tid, time_ns, cpu, struct.pack("=QQI", 0, address, flags), STACK)


def end(tid: int, time_ns: int, address: int = A, cpu: int = 0) -> bytes:
    return traced(END, tid, time_ns, cpu, struct.pack("=QQi", 0, address, 0))


def irq(event: int, number: int, time_ns: int, cpu: int = 0) -> bytes:
    return traced(event, 0, time_ns, cpu, struct.pack("=Qi", 0, number))


def transmit(name: bytes, time_ns: int, cpu: int = 0) -> bytes:
    return traced(TRANSMIT, 0, time_ns, cpu, struct.pack("=QI", 0, (len(name) + 1) << 16 | 12) + name + b"\0")


def window(*records: bytes, cpu: int = 0, began: int = 0, ended: int = 10_000, counted: int | None = None) -> Window:
    told = sum(one[0] == 9 and len(one) > 8 for one in records) if counted is None else counted
    return Window(cpu, began, ended, b"".join(records), IDS, told)


@pytest.fixture(autouse=True)
def without_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden() -> Symbols:
        raise SourceError("/proc/kallsyms", Reason.PERMISSION, "hidden", "be root")

    monkeypatch.setattr("tuneagent.machine.kallsyms.load", hidden)
    monkeypatch.setattr(lock_record, "_comm", {101: "server", 103: ""}.get)


def events(*windows: Window) -> list[Any]:
    found = value(windows, FORMATS)
    parse(found | {"seconds": 1.0, "cpu_s": 0.0})
    rows: list[Any] = found["events"]
    return rows


def times(*windows: Window) -> list[int]:
    return [row[1] for row in events(*windows)]


def test_what_each_kind_tells() -> None:
    records = (
        irq(EXIT, 31, 10),
        begin(101, 20, flags=MUTEX | SPIN),
        end(101, 30),
        irq(ENTRY, 32, 40),
        transmit(b"eth0", 50),
    )
    assert events(window(*records)) == [
        ["irq_handler_exit", 10, 0, 0, None, None, 31, None, None],
        ["contention_begin", 20, 0, 101, A, 33, None, None, 0],
        ["contention_end", 30, 0, 101, A, None, None, None, None],
        ["irq_handler_entry", 40, 0, 0, None, None, 32, None, None],
        ["net_dev_start_xmit", 50, 0, 0, None, None, None, "eth0", None],
    ]


def test_two_cpus_are_in_the_order_of_time() -> None:
    assert times(window(begin(1, 10), begin(1, 30)), window(begin(2, 20, cpu=1), cpu=1)) == [10, 20, 30]


def test_of_interrupts_and_packets_those_next_to_a_wait_are_kept() -> None:
    on_it = (irq(EXIT, 31, 10), irq(EXIT, 32, 20), begin(1, 30), begin(1, 31), irq(EXIT, 33, 40), irq(EXIT, 34, 50))
    elsewhere = window(irq(EXIT, 35, 25, cpu=1), cpu=1)
    assert times(window(*on_it), elsewhere) == [20, 30, 31, 40]


def test_what_was_lost_is_counted() -> None:
    records = (begin(101, 10), throttled(BEGIN, 101, 15, 0), lost(BEGIN, 7, 101, 20, 0), end(101, 30))
    found = value([window(*records, counted=2 + 7 + 5)], FORMATS)
    assert (found["lost"], found["throttled"], found["truncated"]) == (12, 1, False)
    assert found["limits"][:2] == [
        "5 events were counted and not recorded: interrupts beside a wait may be missing",
        "1 waits are not timed: events between their begin and their end are missing",
    ]


def test_a_wait_that_goes_on_over_a_pause_is_not_timed() -> None:
    first = window(begin(101, 10), begin(102, 20), end(102, 25), ended=100)
    second = window(end(101, 210), begin(101, 220), end(101, 230), began=200)
    assert times(first, second) == [10, 20, 25, 220, 230]


@pytest.mark.parametrize(("flags", "ends"), [(SPIN, [40]), (MUTEX, []), (MUTEX | SPIN, [])])
def test_a_loss_elsewhere_hides_the_waits_that_may_sleep_only(flags: int, ends: list[int]) -> None:
    mine = window(begin(101, 10, flags=flags), end(101, 40))
    other = window(begin(102, 20, B, cpu=1), lost(BEGIN, 3, 102, 30, 1), cpu=1, counted=4)
    assert times(mine, other) == [10, 20, *ends]


def test_events_that_found_no_room_at_the_end_of_a_window() -> None:
    full = window(begin(101, 10), ended=100, counted=3)
    assert times(full, window(end(101, 110), began=100)) == [10]


def test_no_more_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_record, "MOST_EVENTS", 3)
    found = value([window(*(begin(1, time_ns) for time_ns in range(10, 15)))], FORMATS)
    assert len(found["events"]) == 3
    assert found["truncated"]
    assert found["limits"][0] == "the first 3 of 5 events are kept"


def test_names_of_tasks() -> None:
    records = [begin(tid, tid) for tid in (0, 101, 102, 103, 104)]
    found = value(
        [window(*records, comm(102, b"own\x1bname", 200, 0, BEGIN), comm(9, b"idler", 201, 0, BEGIN))], FORMATS
    )
    assert found["tasks"] == {"0": "swapper", "101": "server", "102": "own\\x1bname"}


def test_our_own_threads_are_called_ours() -> None:
    ours = os.getpid()
    found = value([window(begin(ours, 10))], FORMATS)
    assert found["tasks"] == {str(ours): "tuneagent (this process)"}


def test_without_names_of_functions() -> None:
    found = value([window(begin(101, 10), begin(101, 11))], FORMATS)
    assert found["stacks"] == [[[None, None, None]]]
    assert found["limits"] == ["no function has a name: /proc/kallsyms: hidden (be root)"]


def test_symbols_are_loaded_where_there_is_a_stack_only() -> None:
    assert value([window(irq(EXIT, 31, 10))], FORMATS)["limits"] == []
    assert value([], FORMATS)["events"] == []


@pytest.mark.parametrize(
    "odd",
    [
        begin(101, 200, cpu=1),
        begin(101, 200, cpu=70_000),
        begin(101, 2**63),
        irq(ENTRY, -1, 200),
        transmit(b"\xff" * 40, 200),
        transmit(b"", 200),
    ],
)
def test_a_record_that_cannot_be_spoils_no_other(odd: bytes) -> None:
    found = value([window(begin(101, 100), odd, end(101, 300))], FORMATS)
    assert [event.time_ns for event in parse(found | {"seconds": 1.0, "cpu_s": 0.0}).events] == [100, 300]
    assert "1 records were not as their format says, and are left out" in found["limits"]


def test_records_that_are_shorter_than_their_format() -> None:
    short = traced(BEGIN, 1, 10, 0, b"\0" * 4, STACK)
    nameless = traced(TRANSMIT, 1, 11, 0, struct.pack("=QI", 0, 90 << 16 | 12))
    negative = irq(EXIT, -1, 12)
    found = value([window(short, nameless, negative, begin(1, 20), b"\x09\0\0\0")], FORMATS)
    assert [row[1] for row in found["events"]] == [20]
    assert found["limits"][0] == "4 records were not as their format says, and are left out"

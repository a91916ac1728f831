from __future__ import annotations

from typing import Any

import pytest

from tests.make_contention import contended, contention, lock_class, lock_stat
from tuneagent.model.contention import (
    Context,
    ImportedBy,
    ImportedLocks,
    ImportedWaits,
    LockGroup,
    LockKind,
    SpinVisibility,
)
from tuneagent.model.contention_report import ContentionReport
from tuneagent.model.cost import AgentCost
from tuneagent.model.missing import Missing, Reason
from tuneagent.report import plain, terminal
from tuneagent.report.contention_text import document
from tuneagent.report.document import Table

BLIND = {SpinVisibility.FROM_THIRD, SpinVisibility.NONE, SpinVisibility.UNKNOWN}


def report(known: Any = None, **fields: Any) -> ContentionReport:
    given: dict[str, Any] = dict.fromkeys(("lock_stat", "imported", "cost")) | {"missing": (), "of_machine": False}
    return ContentionReport("9.9", "this machine", known, **(given | fields))


def text(given: ContentionReport, most: int = 10) -> str:
    return plain.write(document(given, most), 80)


def row(**fields: Any) -> ImportedWaits:
    nothing: dict[str, Any] = dict.fromkeys(
        ("kind", "kind_text", "waits", "wait_total_ns", "wait_max_ns", "wait_min_ns", "wait_avg_ns")
    )
    return ImportedWaits(**(nothing | {"name": "f"} | fields))


def test_the_whole_of_a_report() -> None:
    socket = contended(
        group=LockGroup.SOCKET,
        kind=LockKind.SPIN,
        caller="lock_sock_nested",
        waits=40,
        paired=0,
        wait_total_ns=0,
        wait_max_ns=0,
        per_cpu={1: 40},
        contexts={Context.TASK: 40},
        tasks=(),
        locks=3,
        subject=None,
        subject_reason="the kernel's events name no object of this lock",
        callers=(),
    )
    known = contention(contended(), socket, lost=5, limits=("stacks are 24 frames deep at most",))
    gap = Missing("lock_stat", "/proc/lock_stat", Reason.PERMISSION, "Permission denied", None, "run as root")
    cost = AgentCost(0.345, None, 0.5, 41_000_000)
    assert text(report(known, missing=(gap,), cost=cost)) == (
        "Waiting for locks: this machine\n"
        "Counted: 750 waits/s (CPU 0: 450, CPU 1: 300)\n"
        "Recorded: 940 waits in 2 s; the end of 20 not seen; 5 events lost\n"
        "Each wait for a spinlock is seen here: the kernel has paravirtual spinlocks.\n"
        "\n"
        "  #  waits/s  waited  longest  lock                  wanted by\n"
        "  1      450  4.4 ms    31 µs  interrupt-descriptor  handle_edge_irq\n"
        "  2       20       ?        ?  socket                lock_sock_nested\n"
        "\n"
        "1. handle_edge_irq: spinlock\n"
        "   Of: IRQ 31 (virtio0-input.0) (beside the handler of this interrupt: 870 of\n"
        "       the 900 waits at this lock)\n"
        "   By: CPU 0: 56 %, CPU 1: 44 %; hardirq 99 %; task 1 %; tasks server, cat; the\n"
        "       end of 880 of 900 waits seen\n"
        "   Called by: __common_interrupt < common_interrupt < asm_common_interrupt\n"
        "\n"
        "2. lock_sock_nested: spinlock, 3 locks\n"
        "   Of: cannot tell (the kernel's events name no object of this lock)\n"
        "   By: CPU 1: 100 %; task 100 %; the end of 0 of 40 waits seen\n"
        "\n"
        "Not seen, and therefore unknown\n"
        "  stacks are 24 frames deep at most\n"
        "  /proc/lock_stat: Permission denied; what would help: run as root\n"
        "\n"
        "Recording cost 13 ms of CPU, the whole report 345 ms, 41 MB at most.\n"
    )


@pytest.mark.parametrize("spin", SpinVisibility)
def test_which_waits_for_spinlocks_are_seen_is_always_said(spin: SpinVisibility) -> None:
    shown = " ".join(text(report(contention(spin=spin))).split())
    assert ("Each wait for a spinlock is seen" in shown) is (spin is SpinVisibility.EVERY)
    assert ("not mean none" in shown or "the least there is" in shown) is (spin in BLIND)


def test_an_unknown_is_a_reason_and_no_zero() -> None:
    blind = contention(
        per_cpu_per_sec=None,
        counted_reason="Permission denied: perf_event_paranoid is 2",
        seconds=None,
        recorded_reason="not recorded",
        spin=SpinVisibility.UNKNOWN,
    )
    shown = text(report(contention(**{name: getattr(blind, name) for name in ("per_cpu_per_sec", "counted_reason")})))
    assert "Counted: not known: Permission denied: perf_event_paranoid is 2\n" in shown
    nothing = report(contention(per_cpu_per_sec=None, counted_reason="refused", seconds=None, recorded_reason="no"))
    assert nothing.nothing_seen
    assert "Nothing could be seen: that is not to say that nobody waits." in text(nothing)


def test_what_was_recorded_in_windows_is_divided_by_their_length() -> None:
    shown = text(report(contention(watched_s=0.25, truncated=True)))
    assert "Recorded: 900 waits in the 0.25 s that were watched of 2 s; the end of 20 not" in shown
    assert "  1     3.6k  4.4 ms    31 µs  interrupt-descriptor  handle_edge_irq\n" in shown


def test_more_places_than_asked_for_are_counted() -> None:
    many = contention(*(contended(caller=f"caller_{number}") for number in range(5)))
    shown = text(report(many), 2)
    assert "… 3 more places with --top, or --json" in shown
    assert "caller_2" not in shown


def test_lock_stat_is_ranked_by_the_time_that_was_waited() -> None:
    table = lock_stat(
        lock_class("&quiet", contentions=0),
        lock_class("&short", wait_total_us=12.5, wait_max_us=3.25, points=()),
        lock_class(),
        warning=True,
    )
    shown = text(report(contention(), lock_stat=table))
    assert (
        "  waits   waited  longest  held for  class\n"
        "   1.2k   5.4 ms  35.5 µs     41 ms  &irq_desc_lock_class\n"
        "   1.2k  12.5 µs  3.25 µs     41 ms  &short\n"
        "  &irq_desc_lock_class is wanted at handle_edge_irq+0x1e (800),\n"
        "    handle_irq_event+0x5a (400)\n"
    ) in shown
    assert "&quiet" not in shown
    assert "Lock debugging was switched off by a fault" in shown


@pytest.mark.parametrize("of_machine", [True, False])
def test_that_a_kernel_has_no_lock_stat_is_said_of_machines(of_machine: bool) -> None:  # noqa: FBT001 - pytest's way
    assert ("there is no /proc/lock_stat" in text(report(contention(), of_machine=of_machine))) is of_machine
    assert "there is no" not in text(report(contention(), of_machine=of_machine, lock_stat=lock_stat()))
    gap = Missing("lock_stat", "/proc/lock_stat", Reason.PERMISSION, "Permission denied")
    assert "there is no" not in text(report(contention(), of_machine=of_machine, missing=(gap,)))


def test_what_is_not_understood_is_told_with_its_line() -> None:
    gap = Missing("lock_stat", "/proc/lock_stat", Reason.MALFORMED, "'-1' is not a number", 7)
    assert "  /proc/lock_stat:7: '-1' is not a number\n" in text(report(contention(), missing=(gap,)))


def test_a_table_in_which_nobody_waited() -> None:
    shown = text(report(contention(), lock_stat=lock_stat(lock_class(contentions=0))))
    assert "Nobody waited for any of its locks: 1 classes." in shown


def test_an_imported_table_is_ranked_with_units() -> None:
    rows = (
        row(name="short", kind=LockKind.MUTEX, kind_text="mutex", waits=3, wait_total_ns=900, wait_max_ns=400),
        row(name=None, address=0xFFFF8881, kind_text="rwsem", waits=12_345, wait_total_ns=2_500_000_000),
    )
    told = ImportedLocks(ImportedBy.CALLER, rows, rounded=True, bad=2, total=50, remarks=("a warning",))
    shown = text(report(imported=told))
    assert "   waits  waited  longest  mean  kind   wanted by\n" in shown.replace("  waits", "   waits", 1)
    assert "  12.3k   2.5 s        ?     ?  rwsem  0xffff8881\n" in shown
    assert "      3  900 ns   400 ns     ?  mutex  short\n" in shown
    assert shown.index("0xffff8881") < shown.index("short")
    assert "perf could not make sense of 2 of 50 sequences of events." in shown
    assert "perf says: a warning" in shown
    assert "Counted" not in shown


def everything(name: str) -> ContentionReport:
    waits = contended(
        caller=name,
        waits=123_456_789,
        wait_total_ns=99_990_000_000,
        wait_max_ns=99_990_000,
        tasks=(name, name),
        subject=name,
        subject_reason=name,
        callers=(name,) * 20,
        per_cpu={cpu: cpu + 1 for cpu in range(300)},
    )
    imported = row(
        name=name, kind_text=name, waits=10**9, wait_total_ns=99_990_000, wait_max_ns=99_990_000, wait_avg_ns=99_990
    )
    return report(
        contention(waits, limits=(name,), counted_reason=name, per_cpu_per_sec=None),
        lock_stat=lock_stat(lock_class(name, points=((name, 5),)), version=name),
        imported=ImportedLocks(ImportedBy.TASK, (imported,), rounded=False, bad=1, total=None, remarks=(name,)),
        missing=(Missing("contention", name, Reason.FAILED, name, None, name),),
    )


def test_eighty_columns_hold_tables_of_the_longest_names() -> None:
    name = " ".join(["word" * 5] * 20)
    blocks = tuple(block for block in document(everything(name), 9) if isinstance(block, Table))
    assert len(blocks) == 3
    for drawn in (plain.write(blocks, 80), terminal.write(blocks, 80)):
        assert max(map(len, drawn.splitlines())) <= 80 + len("\x1b[2m\x1b[0m") * drawn.count("\x1b[2m")


def test_nothing_in_a_name_reaches_the_terminal() -> None:
    shown = text(everything("\x1b[31m\u202e\x9b"))
    assert all(character.isprintable() or character == "\n" for character in shown)

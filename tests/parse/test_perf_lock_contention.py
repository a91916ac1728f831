from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.contention import Frame, ImportedBy, ImportedWaits, LockKind
from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse.perf_lock_contention import parse

HEADER = " contended   total wait     max wait     avg wait         type   caller\n\n"
VERBOSE = """\
build id event received for [kernel.kallsyms]: 48dc540c8b76393804ca8088dbfa7d42911a9444 [20]
Looking at the vmlinux_path (8 entries long)
 contended   total wait     max wait     avg wait         type   caller

        38    108.13 ms     13.17 ms      2.85 ms      rwsem:R   exc_page_fault+0x1d8
\t\t\t0xffffffff821fd125  rwsem_down_read_slowpath+0x335
\t\t\t0xffffffff821fd534  down_read_killable+0x44
\t\t\t0x7f7624d1f9b3  
      4930      6.67 ms     27.18 us      1.35 us     spinlock   __page_cache_release.part.0+0x58

=== output for debug===

bad: 4, total: 31
bad rate: 12.90 %
histogram of events caused bad sequence
    acquire: 0
   acquired: 0
  contended: 0
    release: 4
"""  # noqa: W291  # so perf prints an address that no symbol covers
BY_TASK = """\
 contended   total wait     max wait     avg wait          pid   comm

        18     52.43 ms     10.48 ms      2.91 ms        29404   sched messaging
        19     38.61 ms     15.69 ms      2.03 ms           -1   Unknown
"""
BY_LOCK = """\
 contended   total wait     max wait     avg wait            address   symbol

         7      9.50 s       2.00 s      1.36 s    ffffffff830f6018   rcu_state (spinlock)
         3     12.50 us      5.00 us      4.17 us   ffff8881003c366c    (rwsem)
         2      1.25 us    900 ns       625 ns     ffff888100a5e0a4   &kmalloc-cg-512 (mutex)
"""
FIELDS = """\
 contended     min wait     avg wait         type   caller

         2      3.62 ms      9.65 ms      rwsem:W   do_syscall_64+0x71
"""
BY_CGROUP = """\
 contended   total wait     max wait     avg wait   cgroup

         4      2.00 m       1.50 m      30.00 s    /machine.slice/a b
"""
CSV = """\
# output: contended, total wait, max wait, avg wait, type, caller
19, 194232, 21415, 10222, spinlock, process_one_work+0x1f0
15, 162748, 23843, 10849, pcpu-sem:R, do_user_addr_fault+0x40e
# debug: total=35, bad=1, bad_task=0, bad_stack=1, bad_time=0, bad_data=0
"""


def waits(line: str) -> ImportedWaits:
    (row,) = parse(f"{HEADER}{line}\n").rows
    return row


def test_a_row_in_all_its_parts() -> None:
    assert waits("       203    565.91 us     22.71 ms      2.79 s      spinlock   exit_to_user_mode_loop+0x51") == (
        ImportedWaits(
            name="exit_to_user_mode_loop",
            kind=LockKind.SPIN,
            kind_text="spinlock",
            waits=203,
            wait_total_ns=565_910,
            wait_max_ns=22_710_000,
            wait_min_ns=None,
            wait_avg_ns=2_790_000_000,
            offset=0x51,
        )
    )


def test_stacks_remarks_and_the_trailer_belong_to_what_they_follow() -> None:
    locks = parse(VERBOSE)
    first, second = locks.rows
    assert (locks.by, locks.rounded, locks.bad, locks.total) == (ImportedBy.CALLER, True, 4, 31)
    assert locks.remarks[1] == "Looking at the vmlinux_path (8 entries long)"
    assert first.stack == (
        Frame("rwsem_down_read_slowpath", None, 0x335),
        Frame("down_read_killable", None, 0x44),
        Frame(None, None, None),
    )
    assert (second.name, second.waits, second.stack) == ("__page_cache_release.part.0", 4930, ())


def test_rows_by_task_have_a_thread_and_no_kind() -> None:
    locks = parse(BY_TASK)
    assert locks.by is ImportedBy.TASK
    assert [(row.tid, row.name, row.kind, row.waits) for row in locks.rows] == [
        (29404, "sched messaging", None, 18),
        (None, None, None, 19),
    ]
    assert parse(BY_TASK.replace("comm", "owner")).by is ImportedBy.OWNER


def test_rows_by_lock_have_its_address() -> None:
    locks = parse(BY_LOCK)
    assert locks.by is ImportedBy.LOCK
    assert [(row.address, row.name, row.kind, row.kind_text) for row in locks.rows] == [
        (0xFFFFFFFF830F6018, "rcu_state", LockKind.SPIN, "spinlock"),
        (0xFFFF8881003C366C, None, None, "rwsem"),
        (0xFFFF888100A5E0A4, "&kmalloc-cg-512", LockKind.MUTEX, "mutex"),
    ]
    assert [row.wait_max_ns for row in locks.rows] == [2 * 10**9, 5000, 900]


def test_a_lock_of_older_perf_has_no_kind() -> None:
    (row,) = parse(BY_LOCK.split("\n\n", 1)[0] + "\n 7  9.50 s   2.00 s   1.36 s   ffffffff830f6018   rcu_state\n").rows
    assert (row.name, row.kind, row.kind_text) == ("rcu_state", None, None)


def test_a_column_that_is_not_printed_is_not_known() -> None:
    (row,) = parse(FIELDS).rows
    assert (row.wait_min_ns, row.wait_avg_ns) == (3_620_000, 9_650_000)
    assert (row.wait_total_ns, row.wait_max_ns) == (None, None)


def test_rows_by_cgroup_have_its_path() -> None:
    locks = parse(BY_CGROUP)
    assert (locks.by, locks.rows[0].name) == (ImportedBy.CGROUP, "/machine.slice/a b")
    assert locks.rows[0].wait_total_ns == 120 * 10**9


@pytest.mark.parametrize("separator", [",", ";", "\t", "||"])
def test_separated_columns_are_whole_nanoseconds(separator: str) -> None:
    locks = parse(CSV.replace(",", separator))
    assert (locks.by, locks.rounded, locks.bad, locks.total) == (ImportedBy.CALLER, False, 1, 35)
    assert [(row.waits, row.wait_total_ns, row.wait_max_ns, row.wait_avg_ns) for row in locks.rows] == [
        (19, 194232, 21415, 10222),
        (15, 162748, 23843, 10849),
    ]
    assert [(row.kind, row.name, row.offset) for row in locks.rows] == [
        (LockKind.SPIN, "process_one_work", 0x1F0),
        (LockKind.PERCPU, "do_user_addr_fault", 0x40E),
    ]


def test_separated_columns_in_their_other_forms() -> None:
    head = "# output: contended, "
    (lock,) = parse(f"{head}address, symbol, type\n7, ffffffff830f6018, rcu_state, rwlock\n").rows
    assert (lock.waits, lock.address, lock.name, lock.kind_text) == (7, 0xFFFFFFFF830F6018, "rcu_state", "rwlock")
    (task,) = parse(f"{head}pid, comm\n7, 29404, a, b\n").rows
    assert (task.tid, task.name) == (29404, "a, b")
    (group,) = parse(f"{head}cgroup\n7, /a b\n").rows
    assert group.name == "/a b"
    stacks = parse(f"{head}type, caller, stacktrace\n7, mutex, f+0x1, 0xff1 g+0x2: 0xff2 h+0x3\n8, mutex, f+0x1\n")
    assert stacks.rows[0].stack == (Frame("g", None, 2), Frame("h", None, 3))
    assert (stacks.rows[1].waits, stacks.rows[1].stack) == (8, ())


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("rwlock:R", LockKind.RWLOCK_READ),
        ("rwlock:W", LockKind.RWLOCK_WRITE),
        ("rwsem:W", LockKind.RWSEM_WRITE),
        ("mutex-spin", LockKind.MUTEX),
        ("rwlock-rt:R", LockKind.RT),
        ("semaphore", LockKind.OTHER),
        ("unknown", LockKind.OTHER),
    ],
)
def test_the_kinds_of_locks(kind: str, known: LockKind) -> None:
    assert waits(f" 1  1.00 us  1.00 us  1.00 us  {kind}  f+0x1").kind is known


@pytest.mark.parametrize(
    ("caller", "name", "address"),
    [
        ("0xffffffffc0a1b2c3", None, 0xFFFFFFFFC0A1B2C3),
        ("Unknown", None, None),
        (".ip6_pol_route+0x8", "ip6_pol_route", None),
        ("start_xmit", "start_xmit", None),
    ],
)
def test_callers_with_odd_names(caller: str, name: str | None, address: int | None) -> None:
    row = waits(f" 1  1.00 us  1.00 us  1.00 us  spinlock  {caller}")
    assert (row.name, row.address) == (name, address)


def test_a_table_without_rows_is_read() -> None:
    assert parse(HEADER).rows == ()


def test_nothing_is_empty() -> None:
    with pytest.raises(ParseError) as caught:
        parse("\n")
    assert caught.value.reason is Reason.EMPTY


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("hello\nworld\n", 1, "no header"),
        ("  7  9.50 s   2.00 s   1.36 s  mutex  f+0x1\n", 1, "perhaps -q"),
        (f"{HEADER} 7  9.50 ms  1.00 m", 3, "cut off"),
        (f"{HEADER} 7  9.50 ms  1.00 ms  1.00 ms", 3, "cut off"),
        (f"{HEADER} 7  9.50 ms  1.00 ms  1.00 ms  mutex", 3, "without a caller"),
        (f"{HEADER} 7  9.50 days  1.00 ms  1.00 ms  mutex f+0x1", 3, "no time"),
        (f"{HEADER} 7  {'9' * 20}.00 h  1.00 ms  1.00 ms  mutex f+0x1", 3, "above 64 bits"),
        (f"{HEADER} {'9' * 21}  9.50 ms  1.00 ms  1.00 ms  mutex f+0x1", 3, "not a number"),
        (f"{HEADER}\t\t\t0xffffffff821fd125  f+0x1", 3, "no frame"),
        (f"{HEADER} 1 \x1b[31m", 3, "unprintable"),
        (BY_LOCK.replace("ffffffff830f6018", "here"), 3, "no address"),
        ("# output: contended, total wait, type, caller\n7, 9, mutex\n", 2, "3 columns where the header has 4"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)
    assert caught.value.line == line


PIECES = st.sampled_from(
    [*VERBOSE.split("\n")[2:8], *BY_LOCK.split("\n"), *CSV.split("\n"), HEADER, "# output: ", "contended", ", ", "7",
     "\n", "0xff", "0x", ":", "1.00 ms", "mutex", "=== output for debug", "\x07", "9" * 400]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25), st.sampled_from(["\n", " ", ""]))
def test_whatever_is_said_is_a_table_or_a_fault(pieces: list[str], between: str) -> None:
    for text in (between.join(pieces), HEADER + between.join(pieces)):
        with suppress(ParseError):
            assert all(row.waits is None or row.waits >= 0 for row in parse(text).rows)

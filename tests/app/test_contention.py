"""Waits for locks through the command line: of this machine where that is permitted, of files and trees everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.app.command import Ran, process, run
from tests.machine.contending import load, needs_counting
from tests.report.test_advise_json import assert_documented, documented, walk

TABLE = """\
 contended   total wait     max wait     avg wait         type   caller

        38      1.74 ms    499.00 us     45.79 us     spinlock   handle_edge_irq+0x1e
         5     12.50 us      4.10 us      2.50 us        mutex   pipe_read+0x4e
"""
SCRIPT = """\
cat 101 [001] 5.000100: lock:contention_begin: 0xffff888100a5e0a4 (flags=SPIN)
\tffffffff81000010 __pv_queued_spin_lock_slowpath+0x10 ([kernel.kallsyms])
\tffffffff81000020 _raw_spin_lock+0x20 ([kernel.kallsyms])
\tffffffff81000030 show_interrupts+0x30 ([kernel.kallsyms])
\tffffffff81000040 seq_read_iter+0x40 ([kernel.kallsyms])

cat 101 [001] 5.000130: lock:contention_end: 0xffff888100a5e0a4 (ret=0)
"""
SAMPLES = "cat 101 [000] 5.000001: 1001001 cpu-clock: ffffffff81000010 vfs_read+0x10 ([kernel.kallsyms])\n"
LOCK_STAT = """\
lock_stat version 0.4
-------------------------------------------------------------------------------------------------------------------
                              class name    con-bounces    contentions   waittime-min   waittime-max waittime-total   waittime-avg    acq-bounces   acquisitions   holdtime-min   holdtime-max holdtime-total   holdtime-avg
-------------------------------------------------------------------------------------------------------------------

                   &irq_desc_lock_class:          1100           1200           0.12          35.50        5400.25           4.50          64000          98000           0.05          21.75       41000.50           0.42
                   --------------------
                   &irq_desc_lock_class            800          [<ffffffff81100010>] handle_edge_irq+0x1e/0x220
"""  # noqa: E501 - the kernel's lines
EVENTS = [
    ["contention_begin", 5_000_100_000, 1, 101, 4096, 1, None, None, 0],
    ["contention_end", 5_000_130_000, 1, 101, 4096, None, None, None, None],
]


def written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def tree(root: Path, second: int, files: Mapping[str, str] = MappingProxyType({}), *, record: bool = False) -> Path:
    """A captured moment: the counters have grown by 100 and 200 each second."""
    per_cpu = {"0": 1000 + 100 * second, "1": 2000 + 200 * second}
    counts = {"opened_at_ns": 5, "per_cpu": per_cpu, "spin": "from-third"}
    now = second * 10**9
    clock = {"monotonic_ns": now, "boottime_ns": now, "realtime_ns": now, "read_at_ns": {"lock-contention": now}}
    written(root / "captured/clock.json", json.dumps(clock))
    written(root / "captured/lock-contention.json", json.dumps(counts))
    if record:
        stack = [["_raw_spin_lock", None, 16], ["lock_sock_nested", None, 8], ["tcp_sendmsg", None, 9]]
        value = {"seconds": 2.0, "events": EVENTS, "stacks": [stack], "tasks": {"101": "server"}, "lost": 3}
        value |= {"throttled": 0, "truncated": False, "cpu_s": 0.013, "limits": ["a limit"]}
        written(root / "captured/lock-record.json", json.dumps(value))
    for path, text in files.items():
        written(root / "proc" / path, text)
    return root


def value(done: Ran) -> dict[str, Any]:
    assert done.code == 0, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def moments(root: Path) -> list[str | Path]:
    before = tree(root / "0", 10)
    switched_on = {"lock_stat": LOCK_STAT, "sys/kernel/lock_stat": "1\n"}
    return ["--sysroot", before, "--sysroot", tree(root / "1", 12, switched_on, record=True)]


def test_two_moments_give_rates_places_and_the_table(tmp_path: Path) -> None:
    found = value(run("contention", *moments(tmp_path), "--json"))
    known = found["contention"]
    assert (known["per_cpu_per_sec"], known["per_sec"]) == ({"0": 100.0, "1": 200.0}, 300.0)
    (row,) = known["rows"]
    assert (row["group"], row["caller"], row["wait_total_ns"], row["tasks"]) == (
        "socket",
        "lock_sock_nested",
        30_000,
        ["server"],
    )
    assert found["lock_stat"]["classes"][0]["contentions"] == 1200
    shown = run("contention", *moments(tmp_path)).out
    assert "Counted: 300 waits/s (CPU 1: 200, CPU 0: 100)\n" in shown
    assert "/proc/lock_stat, version 0.4, since it was cleared\n" in shown


def test_a_table_that_is_switched_off_says_nothing_of_now(tmp_path: Path) -> None:
    off = {"lock_stat": LOCK_STAT, "sys/kernel/lock_stat": "0\n"}
    shown = run("contention", "--sysroot", tree(tmp_path, 10, off)).out
    assert "&irq_desc_lock_class" not in shown
    assert "switched off" in shown
    assert "sysctl kernel.lock_stat=1" in shown


def test_a_tree_without_anything_of_locks_fails_and_says_why(tmp_path: Path) -> None:
    written(tmp_path / "proc/stat", "")
    done = run("contention", "--sysroot", tmp_path)
    assert done.code == 1
    assert "Nothing could be seen: that is not to say that nobody waits." in done.out
    done = run("contention", "--sysroot", tmp_path, "--json")
    assert done.code == 1
    assert json.loads(done.out)["contention"]["per_sec"] is None


def test_texts_of_perf_are_read(tmp_path: Path) -> None:
    table, script = written(tmp_path / "table.txt", TABLE), written(tmp_path / "script.txt", SCRIPT)
    shown = run("contention", "--import", table, "--import", script).out
    assert "     38  1.74 ms   499 µs  45.79 µs  spinlock  handle_edge_irq\n" in shown
    assert "show_interrupts" in shown
    assert "interrupt-descriptor" in shown
    (row,) = value(run("contention", "--import", script, "--json"))["contention"]["rows"]
    assert (row["caller"], row["wait_total_ns"], row["tasks"]) == ("show_interrupts", 30_000, ["cat"])


def test_every_key_is_documented_and_every_documented_key_is_there(tmp_path: Path) -> None:
    frame = "                          0xffffffff81000010  handle_edge_irq+0x10\n"
    verbose = TABLE.replace("        5     12.50", f"{frame}         5     12.50")
    files = [written(tmp_path / "table.txt", verbose), written(tmp_path / "script.txt", SCRIPT)]
    made = [run("contention", "--import", file, "--json") for file in files]
    made.append(run("contention", *moments(tmp_path / "trees"), "--json"))
    made.append(process("contention", "--seconds", "0.1", "--json"))
    seen: set[str] = set()
    for done in made:
        seen |= assert_documented("tuneagent.contention/1", walk(json.loads(done.out)))
    optional = {key for key in documented("tuneagent.contention/1") if key.startswith("missing[]")}
    assert set(documented("tuneagent.contention/1")) - seen <= optional


@pytest.mark.parametrize(
    "arguments",
    [
        ("--seconds", "0"),
        ("--seconds", "61"),
        ("--seconds", "2", "--import", "TABLE"),
        ("--sysroot", "/", "--import", "TABLE"),
        ("--import", "TABLE", "--import", "TABLE", "--json"),
        ("--import", "SAMPLES"),
        ("--import", "/nonexistent"),
        ("--sysroot", "/nonexistent"),
        ("--snapshot", "TABLE"),
        ("--top", "0"),
        ("word",),
    ],
)
def test_bad_usage_is_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    files = {name: str(written(tmp_path / name, text)) for name, text in (("TABLE", TABLE), ("SAMPLES", SAMPLES))}
    done = run("contention", *(files.get(word, word) for word in arguments))
    assert done.refused, done


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ""),
        ("once upon a time\n", ":1"),
        (TABLE[:-30], ":4"),
        (TABLE.replace("1.74 ms", "1.74 \x1b[31m"), ":3"),
        (TABLE.replace("38 ", "99999999999999999999 "), ":3"),
        ("PERFILE2\0", ":1"),
        ('{"schema": "tuneagent.snapshot/1"}', ""),
    ],
)
def test_what_is_no_text_of_waits_is_one_line_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    file = written(tmp_path / "file", text)
    done = run("contention", "--import", file)
    assert done.refused, done
    assert done.err.startswith(f"tuneagent: {file}{place}: "), done
    assert done.err[:-1].isprintable()


@needs_counting
def test_processes_that_work_in_one_directory_wait_for_its_lock() -> None:
    with load():
        found = value(process("contention", "--seconds", "0.5", "--json"))
    known = found["contention"]
    assert known["per_sec"] > 0
    assert known["cpu_s"] > 0
    assert found["cost"]["cpu_s"] >= known["cpu_s"]
    directory = [row for row in known["rows"] if row["kind"].startswith("rwsem") and row["contexts"].keys() == {"task"}]
    assert directory, known["rows"][:5]
    assert {"python", "python3", "python3.11"} & set(directory[0]["tasks"])
    assert (
        sum(row["waits"] for row in known["rows"]) <= 1.2 * (known["per_sec"] * known["seconds"] + known["lost"]) + 50
    )


@needs_counting
def test_without_permission_the_report_says_what_would_help() -> None:
    dropped = ("setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all")
    done = process("contention", "--seconds", "0.1", before=dropped)
    if done.code == 0:
        pytest.skip("not refused here")
    assert (done.code, done.err) == (1, "")
    assert "Nothing could be seen" in done.out
    assert "what would help: run as root" in " ".join(done.out.split())

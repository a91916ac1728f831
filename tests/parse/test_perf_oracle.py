"""Perf on the running kernel: its texts agree with one another where two of them tell the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tuneagent.model.contention import ImportedBy, LockRecord
from tuneagent.parse import perf_diff, perf_lock_contention, perf_report, perf_script
from tuneagent.parse.perf_kind import PerfText, recognise

SAMPLE = "perf record -q -a -F 997 -e cpu-clock -o $NAME -- perf bench sched messaging -l 20 >/dev/null"
LOCKS = "mount -t tracefs none /sys/kernel/tracing && perf lock record -q -a -o $NAME perf bench sched messaging -l 20"

pytestmark = [
    pytest.mark.namespaces,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("perf") is None, reason="needs root and perf"),
]


def run(command: str, where: Path, name: str = "perf.data") -> str:
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command.replace("$NAME", name)],
        cwd=where,
        env={**os.environ, "PAGER": "cat", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"perf does not work here: {done.stderr.strip()[-200:]}")
    return done.stdout


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("sampled")
    run(SAMPLE, where, "one.data")
    run(SAMPLE, where, "two.data")
    return where


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("locked")
    run(LOCKS, where)
    return where


@pytest.mark.parametrize("form", ["--no-children", "-n --sort symbol,dso,cpu", "-t';'", "--header"])
def test_a_report_has_the_shares_of_its_script(sampled: Path, form: str) -> None:
    script = run("perf script -i one.data", sampled)
    report = run(f"perf report --stdio -i one.data {form}", sampled)
    assert (recognise(script), recognise(report)) == (PerfText.SCRIPT, PerfText.REPORT)
    told = perf_script.parse(script)
    assert told.fault is None
    assert told.profile is not None
    counts: Counter[str] = Counter()
    for each in told.profile.kernel:
        counts[each.symbol] += each.samples
    busy = counts.total() + told.profile.user_samples
    samples = busy + told.profile.idle_samples
    shares = perf_report.parse(report).shares_percent
    # Each row is cut to two decimals, and a symbol may have one for each command and CPU.
    for symbol, count in counts.most_common(20):
        assert shares[symbol] == pytest.approx(100 * count / samples, abs=0.3)
        assert told.profile.shares_percent[symbol] == pytest.approx(100 * count / busy)


def test_a_difference_is_that_of_two_reports(sampled: Path) -> None:
    one, two = (perf_report.parse(run(f"perf report --stdio -i {name}.data", sampled)) for name in ("one", "two"))
    text = run("perf diff one.data two.data", sampled)
    assert recognise(text) is PerfText.DIFF
    deltas = perf_diff.parse(text)
    assert deltas
    for delta in deltas:
        assert delta.old_percent is None or one.shares_percent.get(delta.symbol, 0) == pytest.approx(
            delta.old_percent, abs=0.3
        )
        assert delta.new_percent is None or two.shares_percent.get(delta.symbol, 0) == pytest.approx(
            delta.new_percent, abs=0.3
        )


def waited_by_thread(record: LockRecord) -> dict[int, int]:
    """Sum of the waits in ns, as perf pairs them: by thread and lock."""
    begun: dict[tuple[int, int | None], int] = {}
    total: dict[int, int] = defaultdict(int)
    for event in record.events:
        at = (event.tid, event.address)
        if event.kind == "contention_begin":
            begun.setdefault(at, event.time_ns)
        elif at in begun:
            total[event.tid] += event.time_ns - begun.pop(at)
    return total


def test_the_waits_of_a_script_are_those_that_perf_sums(locked: Path) -> None:
    # Of the event's times, the text of a script has microseconds unless it is asked for more.
    script = perf_script.parse(run("perf script --ns", locked))
    text = run("perf lock contention -t 2>&1", locked)
    assert recognise(text) is PerfText.LOCKS
    locks = perf_lock_contention.parse(text)
    assert script.locks is not None
    assert (script.fault, locks.by) == (None, ImportedBy.TASK)
    waited = waited_by_thread(script.locks)
    longest = [row for row in locks.rows if row.tid is not None][:10]
    assert longest
    for row in longest:
        assert row.tid is not None
        assert row.wait_total_ns == pytest.approx(waited[row.tid], rel=0.02)


@pytest.mark.parametrize("form", ["", "-v", "-F contended,wait_min,avg_wait -k wait_max", "-E 3"])
def test_the_forms_of_lock_contention_are_read(locked: Path, form: str) -> None:
    locks = perf_lock_contention.parse(run(f"perf lock contention {form} 2>&1", locked))
    assert locks.by is ImportedBy.CALLER
    assert all(row.waits and row.kind_text for row in locks.rows)
    assert any(row.stack for row in locks.rows) == (form == "-v")

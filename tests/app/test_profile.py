"""Profiles through the command line: of this machine where it may be sampled, of files everywhere."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.app.command import Ran, process, run
from tests.report.test_advise_json import assert_documented, documented, walk
from tuneagent.app import perf_files
from tuneagent.machine import perf_profile
from tuneagent.model.errors import SourceError

REPORT = """\
# Samples: 12K of event 'cycles'
# Event count (approx.): 1234567
#
# Overhead  Command  Shared Object      Symbol
# ........  .......  .................  ........................
#
    13.54%  swapper  [kernel.kallsyms]  [k] fib_table_lookup
     9.33%  swapper  [kernel.kallsyms]  [k] _raw_spin_lock
     3.23%  swapper  [kernel.kallsyms]  [k] __dev_queue_xmit
     2.00%  sockperf libc.so.6          [.] memcpy
"""
LATER = (
    REPORT.replace("13.54%", "10.37%").replace("9.33%", "6.60%").replace("3.23%", "7.55%")
    + "     3.43%  swapper  [kernel.kallsyms]  [k] dst_release\n"
)
DIFF = """\
# Event 'cycles'
#
# Baseline  Delta Abs  Shared Object      Symbol
# ........  .........  .................  ................
#
     9.33%     -2.73%  [kernel.kallsyms]  [k] _raw_spin_lock
               +3.43%  [kernel.kallsyms]  [k] dst_release
     3.23%     +4.32%  [kernel.kallsyms]  [k] __dev_queue_xmit
"""
SCRIPT = """\
cat 101 [000] 5.000001: 1001001 cpu-clock: ffffffff81000010 vfs_read+0x10 ([kernel.kallsyms])
cat 101 [001] 5.100001: 1001001 cpu-clock: ffffffff81000010 vfs_read+0x10 ([kernel.kallsyms])
cat 101 [001] 5.200001: 1001001 cpu-clock: ffffffff81000020 ksys_read+0x20 ([kernel.kallsyms])
cat 101 [001] 5.300001: 1001001 cpu-clock: 55d000000020 main+0x20 (/usr/bin/cat)
"""
CONTENDED = """\
 contended   total wait     max wait     avg wait         type   caller

        38      1.74 ms    499.00 us     45.79 us     spinlock   handle_edge_irq+0x1e
lock 7 [001] 5.000100: lock:contention_begin: 0xffff888100a5e0a4 (flags=SPIN)
\tffffffff81000020 _raw_spin_lock+0x20 ([kernel.kallsyms])
"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return written(tmp_path / "report.txt", REPORT)


def written(file: Path, text: str | bytes) -> Path:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def symbols(done: Ran) -> list[str]:
    assert done.code == 0, done
    return [one["symbol"] for one in json.loads(done.out)["symbols"]]


def test_texts_of_perf_are_read(tmp_path: Path, report: Path) -> None:
    assert symbols(run("profile", "--import", report, "--json")) == [
        "fib_table_lookup",
        "_raw_spin_lock",
        "__dev_queue_xmit",
    ]
    script = written(tmp_path / "script.txt", SCRIPT)
    done = run("profile", "--import", report, "--import", script, "--top", "1")
    assert f"Profile of {report}" in done.out
    assert f"Profile of {script}" in done.out
    assert "  50.00     66.67        2  0: 50 %, 1: 50 %  vfs_read\n" in done.out
    assert done.out.count("more symbol") == 2


def test_an_imported_profile_is_kept_shown_and_compared(tmp_path: Path, report: Path) -> None:
    kept = tmp_path / "kept.json"
    done = run("profile", "--import", report, "-o", kept)
    assert (done.code, done.err) == (0, f"wrote {kept}\n")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert run("profile", "show", kept).out.replace(str(kept), str(report)) == done.out
    later = written(tmp_path / "later.txt", LATER)
    made = run("profile", "diff", kept, later, "--json")
    assert symbols(made) == ["__dev_queue_xmit", "dst_release", "fib_table_lookup", "_raw_spin_lock"]
    assert symbols(run("profile", "diff", kept, later, "--json", "--order", "baseline"))[0] == "fib_table_lookup"
    assert symbols(run("profile", "diff", written(tmp_path / "diff.txt", DIFF), "--json")) == [
        "__dev_queue_xmit",
        "dst_release",
        "_raw_spin_lock",
    ]


def test_a_kept_file_is_written_over_only_when_asked_for(tmp_path: Path, report: Path) -> None:
    kept = written(tmp_path / "kept.json", "mine")
    assert run("profile", "--import", report, "-o", kept).refused
    assert kept.read_text() == "mine"
    assert run("profile", "--import", report, "-o", kept, "--force").code == 0
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    assert run("profile", "--import", report, "-o", link, "--force").refused
    assert not target.exists()


def test_where_nothing_can_be_kept_no_sample_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_profile, "sample", lambda *_: pytest.fail("sampled"))
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for file in (tmp_path / "absent" / "kept.json", written(tmp_path / "file", "x") / "kept.json"):
        assert run("profile", "-o", file).refused
    for file in (tmp_path, tmp_path / "link", Path("/dev/null")):
        assert run("profile", "-o", file, "--force").refused


def test_a_long_number_is_told_in_our_words(tmp_path: Path) -> None:
    file = written(tmp_path / "long.json", '{"seconds": ' + "9" * 5000 + "}")
    assert run("profile", "show", file).err == f"tuneagent: {file}: not JSON: a number of thousands of digits\n"
    trees = tmp_path / "captured"
    trees.mkdir()
    written(trees / "lock-record.json", file.read_text())
    assert "not JSON: a number of thousands of digits" in run("contention", "--sysroot", tmp_path).out


@pytest.mark.parametrize(
    "arguments",
    [
        ("profile", "--seconds", "0"),
        ("profile", "--seconds", "nan"),
        ("profile", "--seconds", "4000"),
        ("profile", "--cpu", "x"),
        ("profile", "--cpu", "0-"),
        ("profile", "--top", "0"),
        ("profile", "--import", "REPORT", "--seconds", "2"),
        ("profile", "--import", "REPORT", "--cpu", "0"),
        ("profile", "--import", "REPORT", "--import", "REPORT", "--json"),
        ("profile", "--import", "/nonexistent"),
        ("profile", "--import", "/"),
        ("profile", "show"),
        ("profile", "show", "DIFF"),
        ("profile", "diff"),
        ("profile", "diff", "REPORT"),
        ("profile", "diff", "REPORT", "REPORT", "REPORT"),
        ("profile", "diff", "REPORT", "DIFF"),
        ("profile", "compare"),
    ],
)
def test_bad_usage_is_one_line(tmp_path: Path, report: Path, arguments: tuple[str, ...]) -> None:
    files = {"REPORT": str(report), "DIFF": str(written(tmp_path / "diff.txt", DIFF))}
    done = run(*(files.get(word, word) for word in arguments))
    assert done.refused, done


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ""),
        ("\n\n", ""),
        ("\x7fELF\0\0", ":1"),
        ("PERFILE2\0\0\0", ":1"),
        ("once upon a time\n", ":1"),
        (REPORT.replace("9.33%", "9.3x%").replace("_raw", "\x1b[31m"), ":8"),
        ("{", ":1:2"),
        ("{}", ""),
        ('{"schema": "tuneagent.profile/1"}', ""),
        ('{"schema": "tuneagent.snapshot/1", "samples": []}', ""),
        ("[" * 100_000, ":1"),
        ('{"schema": ' + "[" * 100_000, ""),
        ('{"a": 1e999, "b": NaN}', ""),
    ],
)
def test_what_is_no_profile_is_one_line_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    file = written(tmp_path / "file", text)
    for words in (("profile", "show", file), ("profile", "--import", file), ("profile", "diff", file, file)):
        done = run(*words)
        assert done.refused, done
        assert done.err.startswith(f"tuneagent: {file}{place}: "), done
        assert done.err[:-1].isprintable()


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    assert run("profile", "show", huge).refused


def test_what_is_no_text_is_not_made_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path / "perf.data", b"PERFILE2" + b"\0" + b"\xff" * (1 << 20))
    monkeypatch.setattr(perf_files, "LARGEST_FILE_BYTES", 2 << 20)
    run("profile", "--import", file)  # what is imported and kept the first time is no matter
    tracemalloc.start()
    try:
        done = run("profile", "--import", file)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "a file of perf record" in done.err
    assert most < 4.5 * 2**20


def test_a_line_that_is_not_understood_loses_nothing_else(tmp_path: Path) -> None:
    file = written(tmp_path / "script", SCRIPT.replace("cat 101 [001] 5.2", "gar\x1bbage\ncat 101 [001] 5.2"))
    done = run("profile", "--import", file, "--json")
    assert symbols(done) == ["vfs_read", "ksys_read"]
    assert json.loads(done.out)["limits"][0].startswith(
        "not understood, and left out with what may be like it: line 3: "
    )
    assert done.err.startswith(f"tuneagent: {file}:3: ")
    assert done.err.count("\n") == 1
    assert done.err[:-1].isprintable()


@pytest.mark.parametrize(
    ("words", "text", "line"),
    [
        (("profile", "--import"), REPORT[: REPORT.index("_queue_xmit")], 9),
        (("profile", "diff"), DIFF[: DIFF.index("_queue_xmit")], 8),
        (("contention", "--import"), CONTENDED[: CONTENDED.index("_edge_irq")], 3),
    ],
)
def test_a_last_line_that_may_be_half_a_line_is_used_and_told(
    tmp_path: Path, words: tuple[str, ...], text: str, line: int
) -> None:
    file = written(tmp_path / "cut", text)
    done = run(*words, file)
    assert done.code == 0
    assert done.err.splitlines() == [
        f"tuneagent: {file}:{line}: no newline ends the last line: it may be cut off, and with it a name; it is used"
    ]
    if words == ("profile", "--import"):
        assert f"line {line}: no newline ends" in json.loads(run(*words, file, "--json").out)["limits"][0]
    assert run(*words, written(tmp_path / "whole", f"{text}\n")).err == ""


def test_a_command_name_that_is_no_text_spoils_nothing(tmp_path: Path) -> None:
    file = written(tmp_path / "script", SCRIPT.encode().replace(b"cat 101", b"\xff\xfe 101"))
    assert symbols(run("profile", "--import", file, "--json")) == ["vfs_read", "ksys_read"]


def test_a_shared_counter_is_found_in_a_profile_and_in_what_grew(tmp_path: Path, report: Path) -> None:
    later = written(tmp_path / "later.txt", LATER)
    shown = run("profile", "show", later).out
    assert "hot-reference-count" in shown
    (found,) = json.loads(run("profile", "diff", report, later, "--json").out)["findings"]
    assert (found["rule"], found["severity"]) == ("hot-reference-count", "warning")
    assert "dst_release" in found["explanation"]
    assert f"WARNING: {found['title']} [hot-reference-count]" in run("profile", "diff", report, later).out
    assert "Looked for and not found: hot-reference-count" in " ".join(run("profile", "show", report).out.split())


def test_what_chance_makes_is_no_finding(tmp_path: Path) -> None:
    line = "cat 101 [001] 5.200001: 1001001 cpu-clock: ffffffff81000020 dst_release+0x20 ([kernel.kallsyms])\n"
    old, new = written(tmp_path / "old", SCRIPT), written(tmp_path / "new", SCRIPT + line)
    assert json.loads(run("profile", "diff", old, new, "--json").out)["findings"] == []


def test_every_key_is_documented_and_every_documented_key_is_there(tmp_path: Path, report: Path) -> None:
    script, later = written(tmp_path / "script.txt", SCRIPT), written(tmp_path / "later.txt", LATER * 3)
    hot = written(tmp_path / "hot.txt", REPORT.replace("_raw_spin_lock", "dst_release"))
    seen: set[str] = set()
    for file in (report, script, later, hot):
        seen |= assert_documented(
            "tuneagent.profile/1", walk(json.loads(run("profile", "--import", file, "--json").out))
        )
    assert seen == set(documented("tuneagent.profile/1"))
    seen = set()
    for files in ((report, script), (script, script), (report, hot), (written(tmp_path / "diff.txt", DIFF),)):
        made = json.loads(run("profile", "diff", *files, "--json").out)
        seen |= assert_documented("tuneagent.profile-diff/1", walk(made))
    assert set(documented("tuneagent.profile-diff/1")) - seen == {"not_judged[].rule", "not_judged[].reason"}


def refused_here() -> str | None:
    try:
        perf_profile.sample(0.1, None)
    except SourceError as error:
        return f"{error}"
    return None


needs_samples = pytest.mark.skipif(os.geteuid() != 0, reason="sampling the CPUs needs root")


@contextmanager
def reading() -> Iterator[None]:
    """One process on one CPU that spends its time in the kernel, at /dev/zero."""
    code = "import os\nf = os.open('/dev/zero', os.O_RDONLY)\nb = bytearray(1 << 20)\nwhile 1: os.readv(f, [b])"
    load = subprocess.Popen([sys.executable, "-c", code])
    try:
        yield
    finally:
        load.kill()
        load.wait()


@needs_samples
def test_this_machine_is_sampled_kept_and_compared(tmp_path: Path) -> None:
    if why := refused_here():
        pytest.skip(why)
    quiet, busy = tmp_path / "quiet.json", tmp_path / "busy.json"
    assert process("profile", "--seconds", "0.5", "-o", quiet).code == 0
    with reading():
        done = process("profile", "--seconds", "1", "-o", busy, "--json")
    value: dict[str, Any] = json.loads(done.out)
    assert json.loads(busy.read_text()) == value
    assert_documented("tuneagent.profile/1", walk(value))
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    assert 0 < value["samples"] <= 1.5 * 999 * cpus * value["seconds"]
    clearing = [one for one in value["symbols"][:5] if "clear" in one["symbol"] or "zero" in one["symbol"]]
    assert clearing, value["symbols"][:5]
    made = json.loads(process("profile", "diff", quiet, busy, "--json").out)
    grown = next(one for one in made["symbols"] if one["symbol"] == clearing[0]["symbol"])
    assert grown["delta_percent"] > 0
    assert grown["within_noise"] is False


@needs_samples
def test_only_the_cpus_that_were_asked_for_are_sampled() -> None:
    if why := refused_here():
        pytest.skip(why)
    value = json.loads(process("profile", "--seconds", "0.3", "--cpu", "0", "--json").out)
    assert value["cpus"] == "0"
    assert {cpu for one in value["symbols"] for cpu in one["per_cpu"]} <= {"0"}
    done = process("profile", "--seconds", "0.3", "--cpu", "8000")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "not online: CPUs 8000" in done.err


def test_without_permission_one_line_says_what_would_help() -> None:
    if os.geteuid() != 0:
        pytest.skip("dropping to another user needs root")
    done = process(
        "profile", "--seconds", "0.3", before=("setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all")
    )
    if "perf_event_paranoid" not in done.err:
        pytest.skip(f"not refused here: {done.err}")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "run as root" in done.err


LINES = st.sampled_from(
    [*REPORT.splitlines(), *DIFF.splitlines(), *SCRIPT.splitlines(), *CONTENDED.splitlines(), "", "{"]
)
ODD = st.sampled_from(
    ["\x1b[31m", "\0", "\u202e", "9" * 40, "-1.5%", "100000.00%", "\t", "  ", "[k] ", "é", "0x", ":", "lock:"]
)


@st.composite
def mixed(draw: st.DrawFn) -> str:
    """Lines of perf's texts in any order, with something odd in some of them."""
    made = []
    for line in draw(st.lists(LINES, max_size=12)):
        at = draw(st.integers(0, len(line)))
        made.append(line[:at] + draw(ODD) + line[at:] if draw(st.booleans()) else line)
    return "\n".join(made) + draw(st.sampled_from(["", "\n"]))


@given(mixed())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_file_holds_it_is_told_or_refused_in_lines(tmp_path: Path, text: str) -> None:
    file = written(tmp_path / "file", text)
    for words in (("profile", "--import"), ("contention", "--import"), ("profile", "diff")):
        done = run(*words, file)
        assert done.code in {0, 2}, done
        assert done.code == 0 or done.refused, done
        assert all(character.isprintable() or character == "\n" for character in done.out + done.err)

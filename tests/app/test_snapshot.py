"""Snapshot files: written, read back, and everything that such a file may be instead."""

from __future__ import annotations

import copy
import json
import os
import stat
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.app.command import Ran, process, run
from tests.app.conftest import Trees

SCHEMA = "tuneagent.snapshot/1"
REPLACEMENTS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2**31, 2**32, 2**64 - 1, 2**64, -(2**70), 10**400, 0.5, 1e308, -0.0]),
    st.sampled_from(
        ["", "0", "\0", "\x1b[31m", "-5", "999999999999999999999", "0-99999999", "CPU0 CPU0\n", "..", "\ud800"]
    ),
    st.sampled_from(["x" * 100_000, "9" * 5000, "\n" * 1000, "0," * 5000, "/" * 300, "\u202e"]),
    st.text(max_size=40),
    st.sampled_from([[], {}, [None], [[]], {"error": "absent"}, {"error": "absent", "detail": "d"}, {"text": 5}]),
    st.sampled_from([{"value": {"eth0": 5}, "read_at_ns": 1}, {"text": "0", "read_at_ns": -1}, [{"pid": 1}]]),
)


@cache
def document(file: Path) -> Any:
    return json.loads(file.read_text())


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, entry in inner for place in places(entry, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = changed(value[path[0]], path[1:], new)
    return value


def assert_reported_or_refused(done: Ran) -> None:
    if done.code == 0:
        assert done.err == ""
        json.loads(done.out)
    else:
        assert done.refused, done


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_snapshot_changed_anywhere_is_reported_or_refused(
    snapshot_file: Path, tmp_path: Path, data: st.DataObject
) -> None:
    whole = document(snapshot_file)
    samples = whole["samples"]
    place = data.draw(st.sampled_from(places({"schema": SCHEMA, "samples": samples})))
    value = changed({"schema": SCHEMA, "samples": samples}, place, data.draw(REPLACEMENTS))
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(value))

    assert_reported_or_refused(run("advise", "--json", "--snapshot", file))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_text_changed_anywhere_is_reported(snapshot_file: Path, tmp_path: Path, data: st.DataObject) -> None:
    samples = copy.deepcopy(document(snapshot_file)["samples"])
    files = samples[1]["files"]
    answer = files[data.draw(st.sampled_from([path for path in files if "text" in files[path]]))]
    start = data.draw(st.integers(0, len(answer["text"])))
    end = data.draw(st.integers(start, min(start + 20, len(answer["text"]))))
    answer["text"] = answer["text"][:start] + data.draw(st.text(max_size=20)) + answer["text"][end:]
    file = tmp_path / "changed.json"
    file.write_text(json.dumps({"schema": SCHEMA, "samples": samples}))

    assert_reported_or_refused(run("advise", "--json", "--snapshot", file))
    assert "\x1b" not in run("advise", "--verbose", "--snapshot", file).out


def test_a_truncated_file_is_refused_wherever_it_ends(snapshot_file: Path, tmp_path: Path) -> None:
    text = snapshot_file.read_text().rstrip()
    file = tmp_path / "cut.json"
    for end in [0, 1, 2, 10, *range(20, len(text), len(text) // 60), len(text) - 1]:
        file.write_text(text[:end])
        done = run("advise", "--snapshot", file)
        assert done.refused, end
        assert done.err.startswith(f"tuneagent: {file}:")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "[]",
        "null",
        "5",
        '"text"',
        "{}",
        '{"schema": "tuneagent.snapshot/2", "samples": [{}]}',
        '{"schema": ["tuneagent.snapshot/1"], "samples": [{}]}',
        f'{{"schema": "{SCHEMA}"}}',
        f'{{"schema": "{SCHEMA}", "samples": []}}',
        f'{{"schema": "{SCHEMA}", "samples": {{}}}}',
        f'{{"schema": "{SCHEMA}", "samples": [5]}}',
        f'{{"schema": "{SCHEMA}", "samples": [{{}}, {{}}, {{}}]}}',
        f'{{"schema": "{SCHEMA}", "samples": [{{"clock": NaN}}]}}',
        f'{{"schema": "{SCHEMA}", "samples": [{{}}], "more": Infinity}}',
        f'{{"schema": "{SCHEMA}", "samples": [{{"clock": {"9" * 5000}}}]}}',
        "[" * 100_000,
        f'{{"schema": "{SCHEMA}", "samples": [{{"captured": {{"links": {{"value": {"[" * 500}{"]" * 500}}}}}}}]}}',
        '{"schema": "\ud83d',
    ],
    ids=(str(number) for number in range(20)),
)
def test_a_file_that_is_no_snapshot_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "odd.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))

    done = run("advise", "--snapshot", file)

    assert done.refused, done
    assert str(file) in done.err


@pytest.mark.parametrize("kind", ["absent", "directory", "endless", "bytes"])
def test_a_path_that_is_no_readable_file_is_refused(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "odd.json"
    if kind == "directory":
        file.mkdir()
    elif kind == "bytes":
        file.write_bytes(b'{"schema": "\xff"}')
    elif kind == "endless":
        file.symlink_to("/dev/zero")

    assert run("advise", "--snapshot", file).refused


def test_a_sample_of_nothing_is_told_as_unknown(tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    file.write_text(json.dumps({"schema": SCHEMA, "samples": [{}]}))

    done = run("advise", "--snapshot", file, "--json")

    assert (done.code, json.loads(done.out)["state"]) == (0, "unknown")


def test_a_snapshot_gives_the_report_of_the_trees_that_it_was_taken_of(trees: Trees, tmp_path: Path) -> None:
    before, after = trees("critical")
    run("snapshot", "--sysroot", before, "--sysroot", after, "-o", tmp_path / "both.json")
    for name, tree in (("a.json", before), ("b.json", after)):
        run("snapshot", "--sysroot", tree, "--no-observed", "-o", tmp_path / name)

    reports = [
        run("advise", "--json", "--sysroot", before, "--sysroot", after),
        run("advise", "--json", "--snapshot", tmp_path / "both.json"),
        run("advise", "--json", "--snapshot", tmp_path / "a.json", "--snapshot", tmp_path / "b.json"),
    ]

    told = [json.loads(done.out) for done in reports]
    for report in told:
        del report["origin"], report["cost"]
    assert told[0] == told[1] == told[2]
    assert told[0]["state"] == "findings"


def test_a_tree_written_down_gives_the_same_report(trees: Trees, tmp_path: Path) -> None:
    tree, _ = trees("warning")

    assert run("snapshot", "--sysroot", tree, "--tree", tmp_path / "copy").code == 0

    told = [json.loads(run("advise", "--json", "--sysroot", one).out) for one in (tree, tmp_path / "copy")]
    for report in told:
        del report["origin"], report["cost"]
    assert told[0] == told[1]


def test_this_machine_can_be_written_down_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "here.json"

    assert process("snapshot", "--interval", "0.2", "-o", file).code == 0

    report = json.loads(run("advise", "--snapshot", file, "--json").out)
    assert len(document(file)["samples"]) == 2
    assert report["interval_s"] >= 0.2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_output_is_never_written_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine")
    (tmp_path / "planted").symlink_to(target)

    done = run("snapshot", "--sysroot", tmp_path, "-o", tmp_path / "planted")

    assert done.refused
    assert target.read_text() == "mine"


def test_an_output_that_others_could_read_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "open.json"
    file.touch()
    os.chmod(file, 0o644)  # noqa: PTH101 - the mode is the point

    (tmp_path / "proc").mkdir()
    assert run("snapshot", "--sysroot", tmp_path, "-o", file).code == 2
    assert run("snapshot", "--sysroot", tmp_path, "-o", file, "--force").code == 0

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_file_can_go_without_the_parsed_values(trees: Trees) -> None:
    tree, _ = trees("well")

    assert "observed" in json.loads(run("snapshot", "--sysroot", tree).out)
    assert "observed" not in json.loads(run("snapshot", "--sysroot", tree, "--no-observed").out)


@pytest.mark.parametrize("kind", ["fifo", "link", "directory"])
def test_what_is_no_regular_file_is_left_alone(tmp_path: Path, kind: str) -> None:
    target, victim = tmp_path / "target", tmp_path / "victim"
    (tmp_path / "proc").mkdir()
    victim.write_text("precious")
    if kind == "fifo":
        os.mkfifo(target, 0o666)
    elif kind == "link":
        target.symlink_to(victim)
    else:
        target.mkdir()
    before = target.lstat()

    assert run("snapshot", "--sysroot", tmp_path, "-o", target).code == 2
    assert run("snapshot", "--sysroot", tmp_path, "-o", target, "--force").code == 2

    after = target.lstat()
    assert (before.st_mode, before.st_ino, victim.read_text()) == (after.st_mode, after.st_ino, "precious")


def test_a_file_that_is_written_over_is_never_half(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    file, other = tmp_path / "kept.json", tmp_path / "other-name"
    file.write_text("old")
    os.link(file, other)

    limited = ("sh", "-c", 'ulimit -f 1; exec "$@"', "sh")
    full = process("snapshot", "--sysroot", tmp_path, "-o", file, "--force", before=limited)

    assert full.code != 0
    assert (file.read_text(), sorted(one.name for one in tmp_path.iterdir())) == (
        "old",
        ["kept.json", "other-name", "proc"],
    )
    assert run("snapshot", "--sysroot", tmp_path, "-o", file, "--force").code == 0
    assert (json.loads(file.read_text())["schema"], other.read_text()) == ("tuneagent.snapshot/1", "old")

"""A machine, the file and the tree that `snapshot` makes of it: one report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.reports import CAPTURES, document, prepared
from tests.machines.build import MACHINES
from tuneagent.app.main import run
from tuneagent.machine.tree import write_tree

Report = dict[str, Any]


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def same(one: Report, other: Report) -> None:
    # "could not be seen" keeps its reason in both; only where the samples came from differs, and the words for a source
    # of which a kept look says nothing, for it was taken before there was such a source.
    assert alike(one) == alike(other)


def alike(report: Report) -> Report:
    gaps = [gap | {"detail": ""} if gap["reason"] == "not-captured" else gap for gap in report["missing"]]
    waits = report["contention"]
    if any((gap["what"], gap["reason"]) == ("contention", "not-captured") for gap in gaps):
        waits = waits | {"counted_reason": ""}
    return report | {"origin": "", "missing": gaps, "contention": waits}


@pytest.mark.parametrize("name", MACHINES)
def test_tree_to_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees = prepared(name, tmp_path)
    assert run(["snapshot", *trees, "-o", "both.json"]) == 0
    same(document(trees, capsys), document(["--snapshot", "both.json"], capsys))


@pytest.mark.parametrize("name", MACHINES)
def test_tree_to_tree(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees = prepared(name, tmp_path)
    for moment in ("t0", "t1"):
        assert run(["snapshot", "--sysroot", f"{name}/{moment}", "--tree", f"again/{moment}"]) == 0
    same(document(trees, capsys), document(["--sysroot", "again/t0", "--sysroot", "again/t1"], capsys))


@pytest.mark.parametrize("name", CAPTURES)
def test_captured_file_to_trees(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = prepared(name, tmp_path)
    for place, sample in enumerate(json.loads((tmp_path / f"{name}.json").read_text())["samples"]):
        write_tree(sample, str(tmp_path / f"t{place}"))
    same(document(file, capsys), document(["--sysroot", "t0", "--sysroot", "t1"], capsys))


@pytest.mark.parametrize("name", [*MACHINES, *CAPTURES])
def test_one_moment_gives_no_rate(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepared(name, tmp_path)
    if name in MACHINES:
        options = ["--sysroot", f"{name}/t1"]
    else:
        both = json.loads((tmp_path / f"{name}.json").read_text())
        (tmp_path / "one.json").write_text(json.dumps(both | {"samples": both["samples"][:1]}))
        options = ["--snapshot", "one.json"]
    report = document(options, capsys)
    assert (report["interval_s"], report["cpus"], report["protocols"]) == (None, [], None)
    assert all(nic["rates"] is None for nic in report["nics"])
    assert report["rates_reason"]

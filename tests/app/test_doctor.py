from __future__ import annotations

import json
from pathlib import Path

from tests.app.command import run
from tests.app.conftest import Trees


def test_everything_is_seen_in_a_full_tree(trees: Trees) -> None:
    done = run("doctor", "--sysroot", trees("well")[0], "--strict", "--json")

    assert (done.code, done.err) == (0, "")
    assert [one["name"] for one in json.loads(done.out)["capabilities"] if not one["seen"]] == []


def test_strict_is_exit_5_when_something_cannot_be_seen(trees: Trees) -> None:
    tree, _ = trees("well")
    (tree / "proc/softirqs").unlink()

    done = run("doctor", "--sysroot", tree, "--strict", "--json")

    assert done.code == 5
    assert [one["name"] for one in json.loads(done.out)["capabilities"] if not one["seen"]] == ["softirqs"]
    assert run("doctor", "--sysroot", tree).code == 0


def test_a_tree_of_nothing_has_nothing_to_see_and_says_why(tmp_path: Path) -> None:
    done = run("doctor", "--sysroot", tmp_path)

    assert done.code == 0
    assert "in part or not" in done.out
    assert "/proc/interrupts: No such file or directory" in done.out


def test_this_machine() -> None:
    done = run("doctor", "--json")

    report = json.loads(done.out)
    assert (done.code, report["schema"]) == (0, "tuneagent.doctor/1")
    assert report["installation"]["policies"] > 0

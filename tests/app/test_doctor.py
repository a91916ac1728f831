from __future__ import annotations

import json
import re
from pathlib import Path

from tests.app.command import run
from tests.app.conftest import Trees

OPTIONAL = {"lock_stat"}
"""What few kernels have, so that there is nothing wrong without it."""


def not_seen(text: str) -> set[str]:
    return {one["name"] for one in json.loads(text)["capabilities"] if one["state"] != "yes"}


def test_everything_is_seen_in_a_full_tree(trees: Trees) -> None:
    done = run("doctor", "--sysroot", trees("well")[0], "--strict", "--json")

    assert (done.code, done.err) == (0, "")
    assert not_seen(done.out) == OPTIONAL


def test_strict_is_exit_5_when_something_cannot_be_seen(trees: Trees) -> None:
    tree, _ = trees("well")
    (tree / "proc/softirqs").unlink()

    done = run("doctor", "--sysroot", tree, "--strict", "--json")

    assert done.code == 5
    assert not_seen(done.out) == {"softirqs", *OPTIONAL}
    assert run("doctor", "--sysroot", tree).code == 0


def test_a_tree_of_nothing_has_nothing_to_see_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    done = run("doctor", "--sysroot", tmp_path)

    assert done.code == 0
    rows = [re.split(r" {2,}", line.strip()) for line in done.out.splitlines()]
    states = {row[0]: row[1] for row in rows if len(row) == 3}
    assert (states["interrupt placement"], states["ethtool by netlink"]) == ("no", "no")
    assert "/proc/interrupts: No such file or directory" in done.out


def test_this_machine() -> None:
    done = run("doctor", "--json")

    report = json.loads(done.out)
    assert (done.code, report["schema"]) == (0, "tuneagent.doctor/1")
    assert report["installation"]["policies"] > 0
    (waits,) = [one for one in report["capabilities"] if one["name"] == "lock waits"]
    assert waits["state"] == "yes" or all(gap["detail"] for gap in waits["missing"])


def test_the_help_offers_no_second_moment() -> None:
    assert "Twice" in run("advise", "--help").out
    assert "Twice" not in run("doctor", "--help").out

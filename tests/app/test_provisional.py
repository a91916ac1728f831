"""What a trial tries stands only as long as the trial's process: killed or not, the machine is as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app.command import environment, run
from tests.app.test_apply import PINS, SPREAD, contents, moving_on, pins, said
from tests.trees import Guest

TRYING = """
import sys, time
from pathlib import Path
from tuneagent.app import applying, signals, site_source, writing
from tuneagent.app.watch import Place
tree = Path(sys.argv[1])
source = site_source.source_of(tree, ())
site = writing.Site(Place(tree, None), source)
planner = applying.Planner(applying.Ask((sys.argv[2],), tree=tree), source)
with site.alone(), signals.orderly() as interruptions:
    made = site.apply(planner.plan, writing.Request("trying", (sys.argv[2],), None, provisional=True), interruptions)
    print("standing", flush=True)
    if len(sys.argv) > 3:
        more = applying.Planner(applying.Ask((), tree=tree, plan=Path(sys.argv[3])), source)
        site.apply(more.plan, writing.Request("more", (), None, provisional=True), interruptions)
        print("more", flush=True)
    match sys.stdin.readline().strip():
        case "confirm": site.confirm(made.id)
        case "undo": site.undo(made.id, "tried")
"""
FAILING = (
    TRYING.partition("    if len(sys.argv)")[0]
    + """
    def fails():
        raise writing.Refusal(writing.Why.FAILED, "no room")
    try:
        site.apply(fails, writing.Request("more", (), None, provisional=True), interruptions)
    except writing.Failed:
        print("failed", flush=True)
    sys.stdin.readline()
"""
)
PATIENCE_S = 30.0


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return Guest(affinity=SPREAD, effective=dict.fromkeys(SPREAD, "0")).write(tmp_path / "tree")


@pytest.fixture
def trying(tree: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that tries the pins, when they stand."""
    command = [sys.executable, "-c", TRYING, str(tree), PINS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "standing\n"
        yield process
        process.kill()


def until(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


def state(tree: Path) -> str:
    return str(json.loads(run("status", "--json", "--sysroot", tree).out)["transactions"][0]["state"])


def test_status_says_that_a_trial_runs(tree: Path, trying: subprocess.Popen[str]) -> None:
    shown = run("status", "--sysroot", tree)
    told = said(run("status", "--json", "--sysroot", tree), "tuneagent.status/1")["transactions"][0]

    assert shown.code == 0
    assert shown.out.startswith("A trial runs: transaction 1 is what it tries, and is undone at its end.\n")
    assert (told["on_trial"], told["writer_runs"], told["interrupted"]) == (True, True, False)
    assert trying.poll() is None


def test_the_guardian_gives_it_back_when_the_trial_is_killed(tree: Path, trying: subprocess.Popen[str]) -> None:
    before = contents(Guest(affinity=SPREAD, effective=dict.fromkeys(SPREAD, "0")).write(tree.parent / "again"))
    assert contents(tree) != before

    trying.kill()  # and nobody waits for it: a zombie runs nothing

    assert until(lambda: state(tree) == "undone")
    assert contents(tree) == before


def test_what_stands_on_one_another_is_given_back_newest_first(tree: Path, tmp_path: Path) -> None:
    before = contents(tree)
    command = [sys.executable, "-c", TRYING, str(tree), PINS, str(moving_on(tmp_path / "plan.json"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["standing\n", "more\n"]
        assert pins(tree)[0] == "3"
        process.kill()

        assert until(lambda: contents(tree) == before)


def test_one_that_fails_leaves_what_stands_with_its_guardian(tree: Path) -> None:
    before = contents(tree)
    command = [sys.executable, "-c", FAILING, str(tree), PINS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["standing\n", "failed\n"]
        assert contents(tree) != before
        process.kill()

        assert until(lambda: contents(tree) == before)


def test_any_later_command_gives_it_back_where_the_guardian_is_dead_too(
    tree: Path, trying: subprocess.Popen[str]
) -> None:
    for process in Path("/proc").glob("[0-9]*"):
        if guards(process, tree):
            os.kill(int(process.name), signal.SIGKILL)
    trying.kill()
    trying.wait()
    shown = run("status", "--sysroot", tree)

    assert (shown.code, shown.out.splitlines()[0].partition(":")[0]) == (6, "Transaction 1 interrupted")
    assert run("rollback", "--due", "--sysroot", tree).code == 0
    assert pins(tree) == ["0-3"] * 8


def guards(process: Path, tree: Path) -> bool:
    """Whether it is the guardian of the process that tries; it has that one's command line."""
    try:
        comm, line = (process / "comm").read_text(), (process / "cmdline").read_bytes()
    except OSError:
        return False
    return comm == "tuneagent-guard\n" and str(tree).encode() in line


def test_confirmed_it_stands_beyond_the_end_of_the_trial(tree: Path, trying: subprocess.Popen[str]) -> None:
    assert trying.communicate("confirm\n", PATIENCE_S)[0] == ""
    told = json.loads(run("status", "--json", "--sysroot", tree).out)["transactions"][0]

    assert (told["state"], told["confirmed"], told["on_trial"], told["interrupted"]) == (
        "committed",
        True,
        False,
        False,
    )
    assert pins(tree) == ["0", "0", "1", "1", "2", "2", "3", "3"]
    assert run("rollback", "--sysroot", tree).code == 0
    assert pins(tree) == ["0-3"] * 8


def test_given_back_by_the_trial_itself_nothing_stands(tree: Path, trying: subprocess.Popen[str]) -> None:
    assert trying.communicate("undo\n", PATIENCE_S)[0] == ""

    assert pins(tree) == ["0-3"] * 8
    assert run("status", "--sysroot", tree).out.startswith("Nothing of tuneagent's stands here")


def test_nobody_confirms_what_a_dead_trial_left(tree: Path, trying: subprocess.Popen[str]) -> None:
    trying.kill()
    trying.wait()
    done = run("confirm", "1", "--sysroot", tree)

    assert done.code == 1
    assert pins(tree) == ["0-3"] * 8

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import FileIO
from pathlib import Path

import pytest

from tests.app.command import environment, process, run, start
from tests.app.conftest import Trees
from tests.trees import Guest

NOBODY = 65534
ESCAPE = "\x1b"


def both(trees: tuple[Path, Path]) -> list[str]:
    return [word for tree in trees for word in ("--sysroot", str(tree))]


@pytest.mark.parametrize(
    ("kind", "level", "code"),
    [
        ("well", "info", 0),
        ("info", "info", 6),
        ("info", "warning", 0),
        ("warning", "info", 6),
        ("warning", "warning", 6),
        ("warning", "critical", 0),
        ("critical", "critical", 6),
    ],
)
def test_fail_on_is_exit_6_from_its_level_up(trees: Trees, kind: str, level: str, code: int) -> None:
    done = run("advise", *both(trees(kind)), "--fail-on", level)

    assert (done.code, done.err) == (code, "")
    assert run("advise", *both(trees(kind))).code == 0


@pytest.mark.parametrize("kind", ["info", "warning", "critical"])
def test_the_worst_severity_is_the_kind_of_the_tree(trees: Trees, kind: str) -> None:
    assert json.loads(run("advise", *both(trees(kind)), "--json").out)["worst_severity"] == kind


def test_strict_is_exit_5_when_something_could_not_be_measured(trees: Trees) -> None:
    one, two = trees("warning")

    assert run("advise", "--sysroot", one, "--strict").code == 5
    (two / "proc/net/softnet_stat").unlink()
    assert run("advise", "--sysroot", one, "--sysroot", two, "--strict").code == 5


def test_strict_is_content_where_everything_was_measured(trees: Trees) -> None:
    done = run("advise", *both(trees("well")), "--strict", "--json")

    assert json.loads(done.out)["missing"] == []
    assert done.code == 0


def test_a_finding_is_worse_than_what_could_not_be_measured(trees: Trees) -> None:
    one, _ = trees("warning")

    assert run("advise", "--sysroot", one, "--strict", "--fail-on", "warning").code == 6


def test_an_unknown_interface_is_refused_with_those_that_there_are(trees: Trees) -> None:
    done = run("advise", *both(trees("well")), "--nic", "eth7")

    assert done.refused
    assert "'eth7'" in done.err
    assert "eth0" in done.err


def test_one_interface_alone_can_be_judged(trees: Trees) -> None:
    report = json.loads(run("advise", *both(trees("warning")), "--nic", "eth0", "--json").out)

    subjects = {one["subject"] for key in ("findings", "clear", "unjudged") for one in report[key]}
    assert subjects == {"eth0"}


def test_a_tree_of_nothing_is_told_as_unknown(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    done = run("advise", "--sysroot", tmp_path, "--json")

    report = json.loads(done.out)
    assert (done.code, report["state"], report["nics"]) == (0, "unknown", [])
    assert {"interrupts", "nics", "virtio"} <= {one["what"] for one in report["missing"]}


def test_a_directory_that_holds_trees_is_refused_with_their_names(tmp_path: Path) -> None:
    for moment in ("t0", "t1"):
        (tmp_path / moment / "proc").mkdir(parents=True)

    done = run("advise", "--sysroot", tmp_path)

    assert (done.code, done.out) == (2, "")
    assert f"--sysroot {tmp_path}/t0 --sysroot {tmp_path}/t1" in done.err


def test_an_interval_without_a_second_sample_is_refused(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()

    assert run("advise", "--once", "--interval", "3").code == 2
    assert run("advise", "--sysroot", tmp_path, "--interval", "3").code == 2


def test_a_policy_that_is_asked_for_and_has_nothing_to_do_says_why(trees: Trees) -> None:
    tree, _ = trees("well")

    done = run("advise", "--sysroot", tree, "--policy", "xps-by-queue")

    assert "Asked for, with nothing to do here" in done.out
    assert "already so" in done.out


@pytest.mark.parametrize("kind", ["absent", "file"])
def test_a_tree_that_is_no_directory_is_refused(tmp_path: Path, kind: str) -> None:
    tree = tmp_path / "tree"
    if kind == "file":
        tree.write_text("x")

    done = run("advise", "--sysroot", tree)

    assert done.refused
    assert done.err == f"tuneagent: {tree}: not a directory\n"


def test_three_trees_are_refused(trees: Trees) -> None:
    one, two = trees("well")

    assert "3 samples" in run("advise", "--sysroot", one, "--sysroot", two, "--sysroot", one).err


def test_a_name_with_control_characters_cannot_steer_the_terminal(tmp_path: Path) -> None:
    done = run("advise", "--snapshot", tmp_path / "\x1b[2Jx")

    assert done.refused
    assert ESCAPE not in done.err


def test_the_interval_of_trees_without_clock_is_the_stated_one(tmp_path: Path) -> None:
    guest = Guest(clock_ns=None)
    one, two = guest.write(tmp_path / "0"), guest.write(tmp_path / "1")

    report = json.loads(run("advise", "--sysroot", one, "--sysroot", two, "--interval", "5", "--json").out)

    assert report["interval_s"] == 5.0


def test_a_clock_that_contradicts_the_stated_interval_gives_no_rates(trees: Trees) -> None:
    report = json.loads(run("advise", *both(trees("well")), "--interval", "0.2", "--json").out)

    assert report["interval_s"] is None
    assert "stood still or was suspended" in report["rates_reason"]


def test_this_machine_can_be_looked_at() -> None:
    done = run("advise", "--interval", "0.2", "--json")

    report = json.loads(done.out)
    assert (done.code, done.err, report["origin"]) == (0, "", "this machine")
    assert report["interval_s"] >= 0.2
    assert report["cost"]["cpu_s"] > 0


def test_waits_for_locks_are_recorded_within_the_interval_or_there_is_one_reason() -> None:
    report = json.loads(run("advise", "--interval", "0.3", "--json").out)

    waits, reasons = report["contention"], [one for one in report["missing"] if one["what"] == "contention"]
    if reasons:
        assert (len(reasons), waits["per_sec"]) == (1, None)
    else:
        assert waits["per_sec"] >= 0
    assert (waits["seconds"] is None) is (report["cost"]["locks_cpu_s"] is None)
    if waits["seconds"] is not None:
        assert 0 < waits["seconds"] <= 0.2
        assert 0 <= report["cost"]["locks_cpu_s"] <= report["cost"]["cpu_s"]


def test_no_contention_neither_counts_nor_records() -> None:
    report = json.loads(run("advise", "--interval", "0.2", "--contention", "never", "--json").out)

    waits = report["contention"]
    assert (waits["per_cpu_per_sec"], waits["seconds"], report["cost"]["locks_cpu_s"]) == (None, None, None)
    assert waits["counted_reason"] == "switched off by --contention never"
    assert {one["rule"] for one in (*report["clear"], *report["unjudged"])}.isdisjoint(
        {"irq-descriptor-contention", "transmit-lock-contention", "interrupt-list-readers"}
    )


def test_once_has_no_rates_and_says_why() -> None:
    report = json.loads(run("advise", "--once", "--json").out)

    assert (report["interval_s"], report["cpus"]) == (None, [])
    assert report["rates_reason"] == "one sample only: rates need two"


def test_ctrl_c_during_the_interval_is_exit_130_and_says_that_nothing_was_changed() -> None:
    child = start("advise", "--interval", "60", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _wait_until_asleep(child.pid)

    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)

    assert (child.returncode, out, err) == (130, "", "interrupted; nothing was changed\n")


def test_ctrl_c_again_and_again_is_exit_130_and_no_traceback() -> None:
    """Python, as it ends, takes back its own handler: whoever leans on the key killed it, or saw its insides."""
    child = start("advise", "--interval", "60", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _wait_until_asleep(child.pid)

    while child.poll() is None:
        child.send_signal(signal.SIGINT)
        time.sleep(0.002)
    out, err = child.communicate(timeout=30)

    assert (child.returncode, out) == (130, "")
    assert err in {"interrupted; nothing was changed\n", ""}  # the next one may come before it was told


def _wait_until_asleep(pid: int) -> None:
    # The sleep of the interval is the only clock_nanosleep; before it, SIGINT would meet Python's own start.
    for _ in range(600):
        if "nanosleep" in Path(f"/proc/{pid}/wchan").read_text():
            return
        time.sleep(0.05)
    pytest.fail("it never came to its interval")


# Colours


def test_a_pipe_gets_no_colour_and_color_always_gives_it(trees: Trees) -> None:
    arguments = ["advise", *both(trees("warning"))]

    assert ESCAPE not in process(*arguments).out
    assert ESCAPE not in process(*arguments, "--color", "never").out
    assert f"{ESCAPE}[" in process(*arguments, "--color", "always").out
    assert f"{ESCAPE}[" in process(*arguments, "--color", "always", env=environment(NO_COLOR="1")).out


def test_a_terminal_gets_colour_and_a_progress_bar(tmp_path: Path) -> None:
    seen = _on_a_terminal(tmp_path, "advise", "--interval", "1")

    assert f"{ESCAPE}[1" in seen["out"]
    assert "looking at interrupts" in seen["err"]
    assert "looking at interrupts" not in seen["out"]


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_that_wants_none_gets_no_colour(tmp_path: Path, variables: dict[str, str]) -> None:
    seen = _on_a_terminal(tmp_path, "doctor", **variables)

    assert "capability" in seen["out"]
    assert ESCAPE not in seen["out"]


def _on_a_terminal(scratch: Path, *arguments: str, **variables: str) -> dict[str, str]:
    """What a process wrote to two terminals, one for each stream."""
    out, err = os.openpty(), os.openpty()
    child = start(*arguments, env=environment(**variables), stdout=out[1], stderr=err[1], cwd=scratch)
    os.close(out[1])
    os.close(err[1])
    with ThreadPoolExecutor() as pool:  # a terminal holds 4 KiB: both are read while the process writes
        texts = list(pool.map(_all, (out[0], err[0])))
    assert child.wait(30) == 0
    return {"out": texts[0], "err": texts[1]}


def _all(master: int) -> str:
    with os.fdopen(master, "rb", buffering=0) as terminal:
        return b"".join(iter(partial(_read, terminal), b"")).decode()


def _read(terminal: FileIO) -> bytes:
    try:
        return terminal.read(65536)
    except OSError:  # EIO: the other end is closed
        return b""


# Without root


@pytest.fixture
def open_tree() -> Iterator[Path]:
    """A tree that everybody may enter, with two files for its owner alone."""
    root = Path(tempfile.mkdtemp(prefix="tuneagent-test-"))
    root.chmod(0o755)
    tree = Guest().write(root / "tree")
    for file in ("sys/class/dmi/id/product_uuid", "proc/net/softnet_stat"):
        (tree / file).chmod(0o400 if os.geteuid() == 0 else 0o000)
    yield tree
    shutil.rmtree(root)


@pytest.fixture
def as_nobody() -> list[str]:
    """The words that start a program without root; none when the tests run without it."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("no setpriv to give root away with")
    words = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    probe = [*words, sys.executable, "-c", "import tuneagent.app.main"]
    if subprocess.run(probe, check=False, capture_output=True, env=environment()).returncode != 0:
        pytest.skip("the project lies where nobody may read")
    return words


def test_without_root_it_tells_what_it_can_and_what_root_would_add(open_tree: Path, as_nobody: list[str]) -> None:
    done = process("advise", "--sysroot", open_tree, "--json", before=as_nobody, cwd="/")

    report = json.loads(done.out)
    missing = {one["what"]: one for one in report["missing"]}
    assert (done.code, done.err) == (0, "")
    assert report["nics"][0]["queue_pairs"] == 4
    for what in ("identity.product_uuid", "softnet"):
        assert (missing[what]["reason"], missing[what]["remedy"]) == ("permission", "run as root")


def test_without_root_the_text_says_run_as_root(open_tree: Path, as_nobody: list[str]) -> None:
    done = process("advise", "--sysroot", open_tree, before=as_nobody, cwd="/")

    assert done.code == 0
    assert "run as root" in done.out


def test_without_root_this_machine_can_be_looked_at(as_nobody: list[str]) -> None:
    done = process("advise", "--interval", "0.2", "--json", before=as_nobody, cwd="/")

    assert (done.code, done.err) == (0, "")
    gaps = [one for one in json.loads(done.out)["missing"] if one["what"] in {"contention", "lock_record"}]
    assert len(gaps) <= 1
    assert all(gap["remedy"] for gap in gaps)
    assert json.loads(done.out)["machine"]["cpus"] is not None

"""What holds for every command: exit codes, one line for an error, and what is not loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.command import environment, process, run, start
from tests.app.conftest import Trees
from tuneagent import __version__
from tuneagent.app.main import COMMANDS

HEAVY = ("pydantic", "rich", "yaml", "tuneagent.observe", "tuneagent.plan", "tuneagent.machine")


def modules_loaded_by(*arguments: str) -> set[str]:
    """In a fresh interpreter."""
    code = f"import sys; from tuneagent.app.main import run; run({arguments!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"]], ids=str)
def test_version_and_help_load_nothing_that_is_slow(arguments: list[str]) -> None:
    loaded = modules_loaded_by(*arguments)

    assert "click" in loaded
    assert [name for name in HEAVY if name in loaded] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_loads_no_policy_and_no_terminal(command: str) -> None:
    assert not {"pydantic", "rich", "yaml"} & modules_loaded_by(command, "-h")


def test_version() -> None:
    done = run("--version")

    assert (done.code, done.err) == (0, "")
    assert done.out.split()[-1] == __version__


def test_help_names_every_command_with_its_line() -> None:
    done = run("--help")

    words = " ".join(done.out.split())
    assert done.code == 0
    assert all(f"{name} {text}" in words for name, (_, text) in COMMANDS.items())


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["advise", "--nosuch"],
        ["advise", "extra"],
        ["advise", "--interval", "x"],
        ["advise", "--interval", "nan"],
        ["advise", "--interval", "inf"],
        ["advise", "--interval", "0"],
        ["advise", "--interval", "-3"],
        ["advise", "--interval", "1e9"],
        ["advise", "--color", "pink"],
        ["advise", "--fail-on", "everything"],
        ["advise", "--sysroot", "/", "--snapshot", "/"],
        ["advise", "--snapshot"],
        ["advise", "--policies", "/nonexistent", "--once"],
        ["snapshot", "--tree", "x", "--output", "y"],
        ["snapshot", "--sysroot", "/", "--interval", "1"],
        ["doctor", "--sysroot", "/", "--sysroot", "/"],
        ["explain", "a", "b"],
        ["policies", "show"],
        ["policies", "show", "nosuch"],
        ["policies", "validate"],
        ["policies", "validate", "/nonexistent"],
        ["policies", "nosuch"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_exit_2_and_one_line(arguments: list[str]) -> None:
    done = run(*arguments)

    assert done.refused, done


@pytest.mark.parametrize("arguments", [[], ["policies"]], ids=str)
def test_no_command_shows_the_help_on_standard_error(arguments: list[str]) -> None:
    done = run(*arguments)

    assert (done.code, done.out) == (2, "")
    assert "Commands:" in done.err


def test_a_real_process_exits_with_the_same_codes(trees: Trees) -> None:
    assert process("--version").code == 0
    assert process("advise", "--nosuch").code == 2
    assert process("advise", "--sysroot", trees("critical")[0], "--strict").code == 5
    both = [word for tree in trees("critical") for word in ("--sysroot", str(tree))]
    assert process("advise", *both, "--fail-on", "warning").code == 6


def test_a_reader_that_went_away_ends_it_silently(trees: Trees) -> None:
    child = start("advise", "--json", "--sysroot", trees("well")[0], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()  # before it wrote anything: head -0

    assert child.stderr.read() == ""
    assert child.wait(30) == 0
    child.stderr.close()


def test_a_pipe_into_head_is_silent(trees: Trees) -> None:
    program = f"{sys.executable} -c 'from tuneagent.app.main import main; main()'"
    line = f"set -o pipefail; {program} advise --json --sysroot {trees('well')[0]} | head -1"

    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, env=environment(), timeout=60
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")


def test_a_full_disk_is_exit_1_and_one_line() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = process("explain", stdout=full)

    assert (done.code, done.err) == (1, "tuneagent: No space left on device\n")


def test_closed_streams_are_no_traceback() -> None:
    program = f"{sys.executable} -c 'from tuneagent.app.main import main; main()'"

    done = subprocess.run(
        ["bash", "-c", f"{program} explain >&-; {program} explain nosuch 2>&-"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        timeout=60,
    )

    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_an_encoding_without_the_characters_stops_no_report(tmp_path: Path) -> None:
    tree = tmp_path / "b\u65e5r"
    (tree / "proc").mkdir(parents=True)

    done = process("advise", "--sysroot", tree, env=environment(PYTHONIOENCODING="latin-1", PYTHONUTF8="1"))

    assert (done.code, done.err) == (0, "")
    assert "b\\u65e5r" in done.out


def test_completion_scripts_can_be_made() -> None:
    done = process(env=environment(_TUNEAGENT_COMPLETE="bash_source"))

    assert done.code == 0
    assert "_tuneagent_completion" in done.out

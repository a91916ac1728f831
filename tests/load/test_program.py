"""Programs that say too much, take too long, or leave something behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from tuneagent.load import program
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import NO_HOOKS, Hooks
from tuneagent.load.program import Output, Plan
from tuneagent.model.cpuset import CpuSet


def run(
    *command: str, limit_s: float = 20.0, cpus: tuple[int, ...] = (), hooks: Hooks = NO_HOOKS, **environment: str
) -> Output:
    return program.run(Plan((command,), 0.0, 0.1, limit_s, cpus, environment), hooks)[0]


def test_what_it_says_and_how_it_ends() -> None:
    done = run("sh", "-c", "echo out $X; echo err >&2; exit 3", X="a word")

    assert (done.out, done.err, done.code, done.said()) == ("out a word\n", "err\n", 3, "err")
    assert 0 < done.cpu_s < 5
    assert done.wall_s > 0


def test_words_are_words_and_no_shell_sees_them() -> None:
    assert run("echo", "$(id)", "a;b", "*").out == "$(id) a;b *\n"


def test_several_run_at_the_same_time() -> None:
    both = (("sh", "-c", "read x < fifo; echo $x"), ("sh", "-c", "echo done > fifo"))
    at = Path.cwd()
    directory = Path(os.environ.get("TMPDIR", "/tmp")) / f"two-programs-{os.getpid()}"  # noqa: S108 - its own name
    directory.mkdir()
    os.mkfifo(directory / "fifo")
    os.chdir(directory)
    try:
        done = program.run(Plan(both, 0.0, 0.1, 20.0), NO_HOOKS)
    finally:
        os.chdir(at)
        (directory / "fifo").unlink()
        directory.rmdir()
    assert [one.out for one in done] == ["done\n", ""]


def test_it_is_pinned() -> None:
    cpu = max(os.sched_getaffinity(0))
    done = run("sh", "-c", "grep Cpus_allowed_list /proc/self/status", cpus=(cpu,))

    assert done.out.split()[-1] == str(cpu)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_one_program_has_all_cpus_for_its_threads_and_several_have_one_each() -> None:
    cpus = tuple(sorted(os.sched_getaffinity(0)))[:2]
    shown = ("sh", "-c", "grep Cpus_allowed_list /proc/self/status")
    (alone,) = program.run(Plan((shown,), 0.0, 0.1, 20.0, cpus), NO_HOOKS)
    both = program.run(Plan((shown, shown), 0.0, 0.1, 20.0, cpus), NO_HOOKS)

    assert alone.out.split()[-1] == str(CpuSet.of(cpus))
    assert [one.out.split()[-1] for one in both] == [str(cpu) for cpu in cpus]


def test_what_does_not_end_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(LoadError, match=r"sh did not end within 0\.5 s"):
        run("sh", "-c", f"sleep 1000 & echo $$ $! > {pids}; wait", limit_s=0.5)

    left = [psutil.Process(int(pid)) for pid in pids.read_text().split() if psutil.pid_exists(int(pid))]
    assert psutil.wait_procs(left, timeout=20)[1] == []


def test_what_ends_and_leaves_something_behind_that_holds_its_output_is_killed_too() -> None:
    with pytest.raises(LoadError, match="did not end"):
        run("sh", "-c", "sleep 1000 & echo 5", limit_s=0.5)


def test_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "MOST_OUTPUT", 100_000)
    with pytest.raises(LoadError, match="yes wrote more than 100,000 bytes"):
        run("yes")


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert run("printf", r"\377\n7").out == "\\xff\n7"


@pytest.mark.parametrize(
    ("command", "said"), [("no-such-program", "No such file"), ("/etc/passwd", "Permission denied"), ("a\0b", "null")]
)
def test_a_program_that_cannot_run_is_one_clear_line(command: str, said: str) -> None:
    with pytest.raises(LoadError, match=said):
        run(command)


def test_hooks_are_called_once_each_also_when_it_ends_early() -> None:
    told: list[str] = []
    run("true", hooks=Hooks(lambda: told.append("began"), lambda: told.append("ended")))

    assert told == ["began", "ended"]


def test_hooks_are_not_called_for_what_ended_before_its_measured_seconds() -> None:
    """It has not found its server, so that it can be run again as if nothing had been."""
    told: list[str] = []
    plan = Plan((("false",),), 5.0, 0.1, 20.0)
    (done,) = program.run(plan, Hooks(lambda: told.append("began"), lambda: told.append("ended")))

    assert (done.code, told) == (1, [])


def test_hooks_are_called_while_it_runs() -> None:
    told: list[float] = []
    began = time.monotonic()
    done = run("sleep", "1", hooks=Hooks(ended=lambda: told.append(time.monotonic() - began)))

    assert told[0] < done.wall_s


def test_a_hook_that_fails_leaves_no_process() -> None:
    before = len(psutil.Process().children())

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("sleep", "1000", hooks=Hooks(began=fail))
    assert len(psutil.Process().children()) == before


def test_measured_seconds_begin_when_a_program_says_that_it_sends(tmp_path: Path) -> None:
    """Sockperf connects, and pauses for two seconds."""
    sends, told = [tmp_path / "one", tmp_path / "other"], list[list[bool]]()
    commands = tuple(("sh", "-c", f"sleep 0.6; touch {file}; echo Starting test...; sleep 1") for file in sends)
    plan = Plan(commands, 0.1, 0.2, 20.0, starts=b"Starting test...")
    program.run(plan, Hooks(*[lambda: told.append([file.exists() for file in sends])] * 2))

    assert told == [[True, True], [True, True]]


def test_a_program_that_never_says_that_it_sends_has_measured_nothing() -> None:
    told: list[str] = []
    plan = Plan((("sh", "-c", "echo no server; exit 1"),), 0.1, 0.2, 20.0, starts=b"Starting test...")
    (done,) = program.run(plan, Hooks(lambda: told.append("began"), lambda: told.append("ended")))

    assert (done.code, told) == (1, [])

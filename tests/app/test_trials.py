"""history, report, export and import, as they are typed."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests import make_trials
from tests.app.command import PROGRAM, environment, run
from tuneagent.app import trial_store
from tuneagent.model.trial import Trial
from tuneagent.record.store import Store

TRIALS = (make_trials.e1(), make_trials.pin(), make_trials.same(), make_trials.failed())


def keep(path: Path, *trials: Trial) -> Path:
    with Store(str(path)) as store:
        for trial in trials:
            number = store.begin(make_trials.running(trial))
            for one in trial.rounds:
                store.add_round(number, one)
            store.finish(replace(trial, id=number))
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return keep(tmp_path_factory.mktemp("trials") / "state" / "trials.db", *TRIALS)


def test_history_lists_the_newest_first(store: Path) -> None:
    done = run("history", "--store", store)

    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()[1:5]] == ["3", "4", "2", "1"]
    listed = json.loads(run("history", "--json", "--store", store).out)
    assert (listed["schema"], listed["total"]) == ("tuneagent.history/1", 4)
    assert [one["id"] for one in listed["trials"]] == [3, 4, 2, 1]


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (("--policy", "no-change"), [3]),
        (("--verdict", "keep"), [2, 1]),
        (("--state", "failed"), [4]),
        (("--limit", "1", "--offset", "2"), [2]),
        (("--on", "eth9"), []),
    ],
)
def test_history_lists_what_was_asked_for(store: Path, options: tuple[str, ...], numbers: list[int]) -> None:
    listed = json.loads(run("history", "--json", "--store", store, *options).out)

    assert [one["id"] for one in listed["trials"]] == numbers


def test_history_of_nothing_is_no_fault_and_makes_nothing(tmp_path: Path) -> None:
    done = run("history", "--store", tmp_path / "none" / "trials.db")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("No trial in ")
    assert list(tmp_path.iterdir()) == []


def test_report_tells_one_in_full(store: Path) -> None:
    done = run("report", "2", "--store", store)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Keep: transactions/s +73.4 %")
    told = json.loads(run("report", "2", "--json", "--store", store).out)
    assert (told["schema"], told["trial"]["id"]) == ("tuneagent.trial-report/1", 2)


def test_report_compares_two(store: Path) -> None:
    done = run("report", "1", "2", "--store", store)

    assert (done.code, done.err) == (0, "")
    assert "Trial 1, event-index on eth0" in done.out
    assert json.loads(run("report", "1", "2", "--json", "--store", store).out)["schema"] == (
        "tuneagent.trial-comparison/1"
    )


def test_report_writes_a_page_for_its_owner(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "trial.html"

    done = run("report", "2", "--html", page, "--store", store)

    assert (done.code, done.out) == (0, "")
    assert page.read_text().startswith("<!doctype html>")
    assert page.stat().st_mode & 0o777 == 0o600
    assert run("report", "2", "--html", page, "--store", store).refused  # it is there already
    page.write_text("old")
    assert run("report", "2", "--html", page, "--force", "--store", store).code == 0
    assert page.read_text() != "old"


@pytest.mark.parametrize(
    "words",
    [
        ("report", "9"),
        ("report", "1", "9"),
        ("report", "9223372036854775807"),
        ("report", "0"),
        ("report", "9223372036854775808"),
        ("report", "x"),
        ("report", "1", "2", "--html", "x.html"),
        ("report", "1", "--json", "--html", "x.html"),
        ("report", "1", "--html", "/nonexistent/x.html"),
        ("export", "1", "9"),
        ("import", "/nonexistent"),
        ("import", "/proc/self/maps"),
        ("history", "--state", "asleep"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_is_refused_in_one_line(store: Path, words: tuple[str, ...]) -> None:
    done = run(*words, "--store", store)

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("tuneagent")


def test_report_and_export_without_a_store_say_so(tmp_path: Path) -> None:
    for words in (("report", "1"), ("export",)):
        done = run(*words, "--store", tmp_path / "trials.db")
        assert done.refused
        assert "no trial was measured yet" in done.err


def test_a_store_that_others_may_write_is_forbidden(tmp_path: Path) -> None:
    store = keep(tmp_path / "state" / "trials.db", make_trials.e1())
    store.chmod(0o666)

    done = run("history", "--store", store)

    assert (done.code, done.out) == (4, "")
    assert done.err == f"tuneagent: {store}: others than its owner may write it\n"


def test_a_damaged_store_has_failed(tmp_path: Path) -> None:
    store = tmp_path / "state" / "trials.db"
    store.parent.mkdir(mode=0o700)
    store.write_text("no database" * 200)

    done = run("history", "--store", store)

    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "no database, or a damaged one" in done.err


def test_what_is_exported_is_imported_elsewhere(store: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "trials.jsonl", tmp_path / "there" / "trials.db"
    assert run("export", "-o", file, "--store", store).code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert run("export", "-o", file, "--store", store).refused

    done = run("import", file, "--store", other)
    assert (done.code, done.out) == (0, "4 trials read in as 1 to 4\n")
    assert run("import", file, "--store", other).out == "0 trials read in, 4 here already\n"
    assert run("export", "--store", other).out == file.read_text()
    assert json.loads(run("export", "3", "--store", other).out)["question"]["policy"] == "no-change"
    listed = json.loads(run("history", "--json", "--store", other).out)
    assert {one["origin"] for one in listed["trials"]} == {str(file)}
    assert "\nUndo: tuneagent rollback 5\n" in run("report", "2", "--store", store).out
    assert "rollback" not in run("report", "2", "--store", other).out
    assert json.loads(run("report", "2", "--json", "--store", other).out)["trial"]["origin"] == str(file)


def test_a_pipe_brings_trials_too(store: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "import", "-", "--store", str(tmp_path / "x" / "trials.db")],
        input=run("export", "1", "--store", store).out,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "1 trial read in as 1\n", "")


def test_a_file_with_a_fault_brings_nothing(store: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "bad.jsonl", tmp_path / "there" / "trials.db"
    file.write_text(run("export", "1", "2", "--store", store).out + '{"schema": "tuneagent.trial/1"}\n')

    done = run("import", file, "--store", other)

    assert done.refused
    assert done.err == f"tuneagent: {file}:3: $: id is missing\n"
    assert json.loads(run("history", "--json", "--store", other).out)["total"] == 0


def test_an_export_that_fails_in_the_middle_leaves_no_file(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "trials.jsonl"

    assert run("export", "1", "77", "-o", file, "--store", store).refused
    assert list(tmp_path.iterdir()) == []


def test_where_trials_are_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert trial_store.default_path() == Path("/var/lib/tuneagent/trials.db")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert trial_store.default_path() == tmp_path / "tuneagent" / "trials.db"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # the specification: to be ignored
    monkeypatch.setenv("HOME", str(tmp_path))
    assert trial_store.default_path() == tmp_path / ".local" / "state" / "tuneagent" / "trials.db"


def test_a_list_loads_no_template_and_no_schema(store: Path) -> None:
    told = "print(sorted(sys.modules), file=sys.stderr)"
    program = f"import sys; from tuneagent.app.main import run; run(sys.argv[1:]); {told}"
    done = subprocess.run(
        [PROGRAM[0], "-c", program, "history", "--store", str(store)],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
        timeout=60,
    )

    assert not any(f"'{name}'" in done.stderr for name in ("jinja2", "pydantic", "rich"))

"""The store in a real file: what was measured is there, whoever dies, and what is there stays as it was."""

from __future__ import annotations

import io
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests import make_trials
from tuneagent.model.history import TrialFilter
from tuneagent.model.trial import Decision, Trial, TrialState
from tuneagent.record import database
from tuneagent.record.errors import StoreError, Trouble
from tuneagent.record.store import Retention, Store

DAY_NS = 86_400 * 10**9
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "trials.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(str(path)) as opened:
        yield opened


def keep(store: Store, trial: Trial) -> int:
    """As a trial does it: begin, a round at a time, the end."""
    number = store.begin(make_trials.running(trial))
    for one in trial.rounds:
        store.add_round(number, one)
    store.finish(replace(trial, id=number))
    return number


@pytest.mark.parametrize(
    "trial",
    [make_trials.e1(), make_trials.pin(), make_trials.same(), make_trials.failed()],
    ids=["e1", "pin", "same", "failed"],
)
def test_a_trial_is_loaded_as_it_was_measured(store: Store, trial: Trial) -> None:
    number = keep(store, trial)

    assert store.load(number) == replace(trial, id=number)


def test_a_list_has_what_a_list_shows(store: Store) -> None:
    trial = make_trials.pin()
    number = keep(store, trial)
    assert trial.verdict is not None
    assert trial.verdict.primary is not None

    (row,) = store.list()

    assert (row.id, row.began_ns, row.ended_ns, row.version) == (number, trial.began_ns, trial.ended_ns, "0.1.0")
    assert (row.policy, row.subject, row.title) == ("pin-queue-interrupts", "eth0", trial.question.title)
    assert (row.primary, row.state, row.decision) == ("transactions_per_sec", TrialState.DONE, Decision.KEEP)
    assert (row.kept, row.transaction, row.rounds, row.pairs, row.origin) == (True, 5, 25, 12, "")
    assert row.percent == trial.verdict.primary.percent
    assert row.low_percent == trial.verdict.primary.low_percent
    assert row.high_percent == trial.verdict.primary.high_percent


def test_the_newest_comes_first_and_pages_do_not_overlap(store: Store) -> None:
    for number in (3, 1, 5, 2, 4):
        keep(store, make_trials.e1(number=number))
    times = [row.began_ns for row in store.list()]

    assert times == sorted(times, reverse=True)
    assert [row.began_ns for offset in (0, 2, 4, 6) for row in store.list(2, offset)] == times
    assert store.count() == 5


def test_filters_go_together(store: Store) -> None:
    keep(store, make_trials.e1())
    keep(store, make_trials.pin())
    keep(store, make_trials.same())
    keep(store, make_trials.failed())

    def policies(**given: object) -> list[str]:
        return [row.policy for row in store.list(filters=TrialFilter(**given))]  # type: ignore[arg-type] # by name

    assert policies(policy="no-change") == ["no-change"]
    assert policies(decision=Decision.UNDECIDED) == ["no-change"]
    assert policies(policy="pin-queue-interrupts", state=TrialState.FAILED) == ["pin-queue-interrupts"]
    assert policies(policy="no-change", state=TrialState.FAILED) == []
    assert policies(subject="eth1") == []
    assert store.count(TrialFilter(policy="pin-queue-interrupts")) == 2


def test_a_running_trial_is_running_for_everybody(store: Store, path: Path) -> None:
    number = store.begin(make_trials.running())
    store.add_round(number, make_trials.pin().rounds[0])

    with Store(str(path)) as other:
        assert other.load(number).state is TrialState.RUNNING
        assert [row.rounds for row in other.list(filters=TrialFilter(state=TrialState.RUNNING))] == [1]
        assert other.list(filters=TrialFilter(state=TrialState.INTERRUPTED)) == ()
    assert store.load(number).state is TrialState.RUNNING


def test_a_trial_whose_store_was_closed_is_interrupted(path: Path) -> None:
    with Store(str(path)) as one:
        number = one.begin(make_trials.running())

    with Store(str(path)) as other:
        assert other.load(number).state is TrialState.INTERRUPTED
        assert [row.id for row in other.list(filters=TrialFilter(state=TrialState.INTERRUPTED))] == [number]
        assert other.list(filters=TrialFilter(state=TrialState.RUNNING)) == ()


KILLED = """
import sys, time
from tests import make_trials
from tuneagent.record.store import Store
store = Store(sys.argv[1])
trial = make_trials.pin()
number = store.begin(make_trials.running(trial))
for one in trial.rounds[:7]:
    store.add_round(number, one)
print(number, flush=True)
time.sleep(60)
"""


def test_a_killed_process_leaves_all_rounds_that_it_measured(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, cwd=ROOT, text=True) as it:
        assert it.stdout is not None
        number = int(it.stdout.readline())
        with Store(str(path)) as store:
            assert store.load(number).state is TrialState.RUNNING
        it.send_signal(signal.SIGKILL)

    with Store(str(path)) as store:
        left = store.load(number)
    assert left.state is TrialState.INTERRUPTED
    assert left.rounds == make_trials.pin().rounds[:7]
    assert (left.verdict, left.kept, left.ended_ns) == (None, None, None)


def test_nothing_is_added_to_what_has_ended(store: Store) -> None:
    trial = make_trials.e1()
    number = keep(store, trial)

    with pytest.raises(StoreError, match=f"trial {number} has ended"):
        store.add_round(number, trial.rounds[0])
    with pytest.raises(StoreError, match="has ended"):
        store.finish(replace(trial, id=number, state=TrialState.FAILED))
    assert store.load(number) == replace(trial, id=number)


def _removed(path: Path) -> None:
    path.unlink()


def _directory_removed(path: Path) -> None:
    shutil.rmtree(path.parent)


def _replaced(path: Path) -> None:
    other = path.with_name("other.db")
    with Store(str(other)) as store:
        keep(store, make_trials.e1())
    other.rename(path)


@pytest.mark.parametrize("spoil", [_removed, _directory_removed, _replaced])
def test_what_goes_into_a_file_that_nobody_finds_is_not_told_to_be_stored(
    store: Store, path: Path, spoil: Callable[[Path], None]
) -> None:
    trial = make_trials.e1()
    number = store.begin(make_trials.running(trial))
    store.add_round(number, trial.rounds[0])
    exported = b"".join(store.export())
    spoil(path)

    said = f"{path}: the store was removed or replaced while it was open: this trial is not in it"
    for write in (
        lambda: store.begin(make_trials.running()),
        lambda: store.add_round(number, trial.rounds[1]),
        lambda: store.finish(replace(trial, id=number)),
    ):
        with pytest.raises(StoreError) as caught:
            write()
        assert (str(caught.value), caught.value.trouble) == (said, Trouble.FAILED)
    with pytest.raises(StoreError, match="removed or replaced while it was open: nothing of the file is in it"):
        store.import_(io.BytesIO(exported), "x")


def test_a_store_that_is_removed_while_the_end_is_written_is_told(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = make_trials.e1()
    number = store.begin(make_trials.running(trial))
    writing = database.writing

    @contextmanager
    def written(connection: sqlite3.Connection) -> Iterator[None]:
        with writing(connection):
            yield
        path.unlink()

    monkeypatch.setattr(database, "writing", written)
    with pytest.raises(StoreError, match="removed or replaced"):
        store.finish(replace(trial, id=number))


def test_a_round_that_does_not_count_after_all_is_stored_once_more(store: Store) -> None:
    trial = make_trials.e1()
    number = store.begin(make_trials.running(trial))
    set_aside = replace(trial.rounds[0], unused="a neighbour took the CPU")
    for one in (*trial.rounds, set_aside):
        store.add_round(number, one)
    rounds = (set_aside, *trial.rounds[1:])
    assert store.load(number).rounds == rounds
    store.finish(replace(trial, id=number, rounds=rounds))
    assert store.load(number).rounds == rounds
    assert store.list()[0].rounds == len(trial.rounds)


@pytest.mark.parametrize("number", [0, 99, 2**63, 2**70, -1])
def test_a_trial_that_is_not_there_is_missing(store: Store, number: int) -> None:
    for ask in (store.load, lambda one: store.add_round(one, make_trials.e1().rounds[0])):
        with pytest.raises(StoreError, match=f"there is no trial {number}") as caught:
            ask(number)
        assert caught.value.trouble is Trouble.MISSING


@pytest.mark.parametrize(
    "statement",
    ["UPDATE round SET body = x'00'", "UPDATE document SET body = x'00'", "UPDATE trial SET percent = 99.0"],
)
def test_what_is_stored_cannot_be_changed(store: Store, path: Path, statement: str) -> None:
    keep(store, make_trials.e1())
    connection = sqlite3.connect(path)

    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        connection.execute(statement)
    connection.close()


def test_a_round_that_json_cannot_say_is_refused_and_leaves_nothing(store: Store) -> None:
    number = store.begin(make_trials.running())
    odd = replace(make_trials.pin().rounds[0], metrics={"transactions_per_sec": float("nan")})

    with pytest.raises(StoreError, match=f"trial {number}: nan is not a JSON number"):
        store.add_round(number, odd)
    assert store.load(number).rounds == ()


def test_old_trials_go_by_count_and_their_rounds_with_them(path: Path) -> None:
    with Store(str(path), retention=Retention(trials=3)) as store:
        numbers = [keep(store, make_trials.e1(number=number)) for number in range(1, 6)]
        assert [row.id for row in store.list()] == numbers[:1:-1]
        connection = sqlite3.connect(path)
        assert connection.execute("SELECT count(DISTINCT trial) FROM round").fetchone() == (3,)
        assert connection.execute("SELECT count(DISTINCT trial) FROM document").fetchone() == (3,)
        connection.close()


def test_old_trials_go_by_age_but_never_the_newest(path: Path) -> None:
    def at(day: int) -> Trial:
        return replace(make_trials.e1(), began_ns=make_trials.BEGAN_NS + day * DAY_NS)

    with Store(str(path), retention=Retention(days=10, always=2)) as store:
        for day in range(4):
            keep(store, at(day))
        newest = keep(store, at(3650))  # the clock is ten years ahead
        assert [row.id for row in store.list()] == [newest, newest - 1]


def test_a_trial_that_runs_is_not_thrown_away(path: Path) -> None:
    with Store(str(path), retention=Retention(trials=1)) as store:
        running = store.begin(make_trials.running(make_trials.e1()))
        ended = keep(store, make_trials.e1(number=2))
        newest = keep(store, make_trials.e1(number=3))

        assert {row.id for row in store.list()} == {running, newest}
        assert ended not in {row.id for row in store.list()}


def test_an_id_is_never_given_twice(path: Path) -> None:
    with Store(str(path), retention=Retention(trials=1, always=0)) as store:
        assert [keep(store, make_trials.e1(number=number)) for number in (9, 8, 7)] == [1, 2, 3]


def test_texts_that_are_no_utf8_are_listed_and_loaded(store: Store) -> None:
    asked = replace(make_trials.question(), subject="eth\udcff0", title="x" * 5000)
    trial = replace(make_trials.e1(), question=asked)
    number = keep(store, trial)

    (row,) = store.list(filters=TrialFilter(subject="eth\udcff0"))

    assert row.subject == r"eth\udcff0"
    assert len(row.title) == 400
    assert store.load(number).question == asked


def test_two_processes_write_at_once(path: Path) -> None:
    program = KILLED.replace("time.sleep(60)", "store.finish(__import__('dataclasses').replace(trial, id=number))")
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, cwd=ROOT, text=True)
        for _ in range(4)
    ]
    numbers = sorted(int(one.communicate()[0]) for one in started)

    assert [one.returncode for one in started] == [0, 0, 0, 0]
    assert numbers == [1, 2, 3, 4]
    with Store(str(path)) as store:
        assert {row.rounds for row in store.list()} == {7}


def test_a_second_writer_waits_no_longer_than_it_says(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuneagent.record.database.BUSY_S", 0.05)
    blocking = sqlite3.connect(path, isolation_level=None)
    blocking.execute("BEGIN IMMEDIATE")
    with Store(str(path)) as other:
        with pytest.raises(StoreError, match="another process has been writing") as caught:
            other.begin(make_trials.running())
        assert caught.value.trouble is Trouble.BUSY
        assert other.list() == ()  # reading goes on
        blocking.execute("ROLLBACK")
        assert other.begin(make_trials.running()) == 1
    blocking.close()
    assert store.count() == 1


def test_export_and_import_bring_the_same_trial_elsewhere(store: Store, tmp_path: Path) -> None:
    trials = [make_trials.e1(number=3), make_trials.pin(), make_trials.failed()]
    numbers = [keep(store, trial) for trial in trials]
    text = b"".join(store.export())

    with Store(str(tmp_path / "other" / "trials.db")) as other:
        done = other.import_(io.BytesIO(text), "trials.jsonl")
        assert (done.stored, done.here) == ((1, 2, 3), 0)
        assert [other.load(one) for one in done.stored] == [
            replace(trial, id=one, origin="trials.jsonl") for one, trial in zip(done.stored, trials, strict=True)
        ]
        assert {row.origin for row in other.list()} == {"trials.jsonl"}
        assert b"".join(other.export()) == text
        again = other.import_(io.BytesIO(text), "trials.jsonl")
        assert (again.stored, again.here) == ((), 3)
    assert b"".join(store.export(numbers[1:2])) == text.splitlines(keepends=True)[1]


def test_what_was_exported_is_not_taken_in_again(store: Store) -> None:
    keep(store, make_trials.pin())

    assert store.import_(io.BytesIO(b"".join(store.export())), "own").here == 1
    assert store.count() == 1


def test_a_trial_that_ran_elsewhere_is_interrupted_here(store: Store, tmp_path: Path) -> None:
    number = store.begin(make_trials.running())
    store.add_round(number, make_trials.pin().rounds[0])
    text = b"".join(store.export())

    with Store(str(tmp_path / "other" / "trials.db")) as other:
        other.import_(io.BytesIO(text), "x")
        assert other.load(1).state is TrialState.INTERRUPTED


def test_a_list_reads_no_document(store: Store, path: Path) -> None:
    keep(store, make_trials.e1())
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM round")
    connection.execute("DELETE FROM document")
    connection.commit()
    connection.close()

    assert len(store.list()) == 1
    with pytest.raises(StoreError, match="trial 1: it is damaged") as caught:
        store.load(1)
    assert caught.value.trouble is Trouble.CORRUPT


def test_the_file_is_the_owners_alone(store: Store, path: Path) -> None:
    keep(store, make_trials.e1())

    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {one.stat().st_mode & 0o777 for one in path.parent.iterdir()} == {0o600}

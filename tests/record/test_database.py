"""A store that cannot be used says why in one line, and is left as it was."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests import make_trials
from tuneagent.record import database
from tuneagent.record.errors import StoreError, Trouble
from tuneagent.record.migrations import APPLICATION_ID, MIGRATIONS
from tuneagent.record.store import Store

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "trials.db"


def filled(path: Path, trials: int = 1) -> Path:
    with Store(str(path)) as store:
        for number in range(trials):
            trial = make_trials.e1(number=number)
            begun = store.begin(make_trials.running(trial))
            for one in trial.rounds:
                store.add_round(begun, one)
            store.finish(replace(trial, id=begun))
    return path


def refused(path: Path, *, make: bool = True) -> StoreError:
    with pytest.raises(StoreError) as caught:
        Store(str(path), make=make).close()
    assert str(caught.value).count("\n") == 0
    assert str(path.parent) in str(caught.value)
    return caught.value


def test_a_store_is_made_once_and_opened_again(path: Path) -> None:
    filled(path)
    connection = sqlite3.connect(path)

    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    connection.close()
    with Store(str(path)) as store:
        assert store.count() == 1


def test_nothing_is_made_where_nothing_may_be(path: Path) -> None:
    assert refused(path, make=False).trouble is Trouble.MISSING
    assert not path.parent.exists()


def test_what_lies_between_versions_is_made_up_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, ("ALTER TABLE trial ADD COLUMN colour TEXT",)))

    with Store(str(path)) as store:
        assert store.count() == 1
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT colour FROM trial").fetchone() == (None,)
    connection.close()


def test_a_step_that_fails_leaves_the_schema_before_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    steps = ("ALTER TABLE trial ADD COLUMN colour TEXT", "ALTER TABLE nothing ADD COLUMN colour TEXT")
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, steps))
    refused(path)
    monkeypatch.undo()

    with Store(str(path)) as store:
        assert store.count() == 1
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT colour FROM trial")
    connection.close()


def _newer(path: Path) -> None:
    filled(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()


def _foreign(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE addresses (name TEXT)")
    connection.close()
    path.chmod(0o600)


def _text(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_text("these are no trials\n" * 200)


def _damaged_head(path: Path) -> None:
    filled(path)
    data = bytearray(path.read_bytes())
    data[100:1000] = bytes(900)
    path.write_bytes(data)


def _damaged_schema(path: Path) -> None:
    """SQLite quotes the name that it cannot read, and Python cannot read the quotation."""
    filled(path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"CREATE TABLE document", b"CREATE \xffABLE document", 1))


def _others_may_write(path: Path) -> None:
    filled(path)
    path.chmod(0o620)


def _others_may_write_beside(path: Path) -> None:
    filled(path)
    path.parent.chmod(0o777)


def _link(path: Path) -> None:
    filled(path)
    path.rename(path.with_name("real.db"))
    path.symlink_to("real.db")


def _hard_link(path: Path) -> None:
    filled(path)
    os.link(path, path.with_name("second.db"))


def _directory_is_a_link(path: Path) -> None:
    filled(path)
    path.parent.rename(path.parent.with_name("real"))
    path.parent.symlink_to("real")


def _pipe(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    os.mkfifo(path, 0o600)


def _lock_is_a_link(path: Path) -> None:
    filled(path)
    path.with_name("trials.db-lock").unlink()
    path.with_name("trials.db-lock").symlink_to("/nonexistent/file")


ODD: dict[str, tuple[Callable[[Path], None], Trouble, str]] = {
    "newer": (_newer, Trouble.NEWER, r"made by a newer version of tuneagent \(schema 7; this one knows 1\)"),
    "foreign": (_foreign, Trouble.FOREIGN, "a database of something else"),
    "text": (_text, Trouble.CORRUPT, "no database"),
    "head": (_damaged_head, Trouble.CORRUPT, "damaged"),
    "schema": (_damaged_schema, Trouble.CORRUPT, "the database is damaged"),
    "file": (_others_may_write, Trouble.FORBIDDEN, "others than its owner may write it"),
    "directory": (_others_may_write_beside, Trouble.FORBIDDEN, "others than its owner may write it"),
    "link": (_link, Trouble.FORBIDDEN, "not a file of its own"),
    "hard link": (_hard_link, Trouble.FORBIDDEN, "hard link"),
    "directory link": (_directory_is_a_link, Trouble.FORBIDDEN, "not a directory of its own"),
    "pipe": (_pipe, Trouble.FORBIDDEN, "not a file of its own"),
    "lock": (_lock_is_a_link, Trouble.FORBIDDEN, "symbolic link"),
}


@pytest.mark.parametrize(("spoil", "trouble", "said"), ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("make", [True, False], ids=["to write", "to read"])
def test_an_odd_file_is_refused(
    path: Path, spoil: Callable[[Path], None], trouble: Trouble, said: str, *, make: bool
) -> None:
    spoil(path)
    before = {one.name: (one.lstat().st_mode, one.lstat().st_size) for one in path.parent.iterdir()}

    with pytest.raises(StoreError, match=said):
        Store(str(path), make=make).close()
    assert refused(path, make=make).trouble is trouble
    after = {one.name: (one.lstat().st_mode, one.lstat().st_size) for one in path.parent.iterdir()}
    assert {name: after[name] for name in before} == before


def test_somebody_elses_file_is_refused(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to give a file away")
    filled(path)
    os.chown(path, 65534, 65534)

    assert "belongs to user 65534" in str(refused(path))


def test_damage_in_the_middle_is_told_and_the_list_goes_on(path: Path) -> None:
    filled(path, 3)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER round_stays")
    connection.execute("UPDATE round SET body = substr(body, 1, 40) WHERE trial = 2 AND place = 1")
    connection.commit()
    connection.close()

    with Store(str(path)) as store:
        assert len(store.list()) == 3
        store.load(1)
        with pytest.raises(StoreError, match="trial 2: it is damaged: cut off") as caught:
            store.load(2)
        assert caught.value.trouble is Trouble.CORRUPT


def test_overwritten_pages_are_told(path: Path) -> None:
    filled(path, 20)
    size = path.stat().st_size
    with path.open("r+b") as file:
        for page in range(2, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xa5" * 4096)

    with Store(str(path)) as store, pytest.raises(StoreError, match="damaged") as caught:
        store.list()
    assert caught.value.trouble is Trouble.CORRUPT


def written_into(path: Path, statement: str) -> None:
    """A filled store that somebody has written into, past what it allows."""
    filled(path)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER ended_stays")
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_state_that_there_is_none_is_damage(path: Path) -> None:
    written_into(path, "UPDATE trial SET state = 'asleep'")

    with Store(str(path)) as store, pytest.raises(StoreError, match="damaged: 'asleep'"):
        store.list()


def test_a_column_that_is_no_text_is_damage(path: Path) -> None:
    written_into(path, "UPDATE trial SET title = CAST(x'ff41' AS TEXT)")

    with Store(str(path)) as store, pytest.raises(StoreError, match="the database is damaged") as caught:
        store.list()
    assert caught.value.trouble is Trouble.CORRUPT


def until_full(store: Store, number: int) -> tuple[int, StoreError]:
    """How many rounds were taken, and what was said of the next."""
    rounds = make_trials.pin().rounds
    for kept in range(5000):
        try:
            store.add_round(number, rounds[kept % len(rounds)])
        except StoreError as error:
            return kept, error
    raise AssertionError("it is never full")


@pytest.fixture
def small_files() -> Iterator[Callable[[int], None]]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_may_not_grow_keeps_what_it_has(path: Path, small_files: Callable[[int], None]) -> None:
    filled(path)
    with Store(str(path)) as store:
        number = store.begin(make_trials.running())
        small_files(path.with_name("trials.db-wal").stat().st_size + 6000)
        kept, error = until_full(store, number)
        assert "the disk does not take it" in str(error)
        assert error.trouble is Trouble.FULL
        assert len(store.load(number).rounds) == kept


FULL = """
set -e
mount -t tmpfs -o size=256k,mode=755 none "$1"
exec "$0" -m tests.record.test_database "$1"
"""


def fill(root: str) -> dict[str, object]:
    """Runs on a disk of 256 KiB: measures until it is full, then ends when there is room again."""
    Path(root, "ballast").write_bytes(bytes(40_000))
    with Store(f"{root}/state/trials.db") as store:
        number = store.begin(make_trials.running())
        kept, error = until_full(store, number)
        rounds = len(store.load(number).rounds)
        Path(root, "ballast").unlink()
        store.finish(replace(make_trials.failed(), id=number))
        seen = {"said": error.detail, "trouble": error.trouble, "kept": kept == rounds > 0}
        return seen | {"state": store.load(number).state}


@pytest.mark.namespaces
def test_a_full_disk_keeps_what_was_measured(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", FULL, sys.executable, str(tmp_path)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"said": "the disk is full", "trouble": "full", "kept": True, "state": "failed"}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(fill(sys.argv[1])))

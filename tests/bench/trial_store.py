"""What the list of a full store of trials costs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from tests import make_trials
from tests.bench.measured import Measured
from tuneagent.record.store import Store
from tuneagent.report import history_text, plain

TRIALS = 10_000
LIMIT_S = 0.3
_HOUR_NS = 3_600 * 10**9


def figures(scratch: Path, trials: int = TRIALS) -> Iterator[Measured]:
    """All trials as nouns; and those of a screen as text, with the store opened for it."""
    path = str(scratch / "state" / "trials.db")
    _fill(path, trials)
    yield Measured("list_10000_trials_s", _list_s(path, trials), LIMIT_S, 5)
    yield Measured("history_of_10000_trials_s", _history_s(path), LIMIT_S, 5)


def _fill(path: str, trials: int) -> None:
    """One as it is measured, with all its rounds, and its rows again and again."""
    whole = make_trials.e1()
    with Store(path) as store:
        made = store.begin(replace(make_trials.running(whole), rounds=whole.rounds))
        store.finish(replace(whole, id=made))
    connection = sqlite3.connect(path)
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(trial)") if name not in {"id", "began_ns"}]
    names = ", ".join(columns)
    again = f"INSERT INTO trial (began_ns, {names}) SELECT began_ns + ?, {names} FROM trial WHERE id = 1"  # noqa: S608
    for number in range(2, trials + 1):
        connection.execute(again, (number * _HOUR_NS,))
    for table, part in (("document", "kind"), ("round", "place")):
        connection.execute(
            f"INSERT INTO {table} SELECT trial.id, {part}, body FROM {table}, trial WHERE trial.id > 1"  # noqa: S608
        )
    connection.commit()
    connection.close()


def _list_s(path: str, trials: int, runs: int = 5) -> float:
    walls = []
    for _ in range(runs):
        began = time.perf_counter()
        with Store(path, make=False) as store:
            assert len(store.list(trials)) == trials
        walls.append(time.perf_counter() - began)
    return median(walls)


def _history_s(path: str, runs: int = 5) -> float:
    walls = []
    for _ in range(runs):
        began = time.perf_counter()
        with Store(path, make=False) as store:
            document = history_text.document(store.list(), store.count(), 0, path)
        plain.write(document)
        walls.append(time.perf_counter() - began)
    return median(walls)

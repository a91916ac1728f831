"""What the list of a full store of trials costs."""

from __future__ import annotations

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
    """As they are measured, but that the disk is not waited for."""
    whole = make_trials.e1()
    with Store(path) as store:
        store._connection.execute("PRAGMA synchronous = OFF")  # noqa: SLF001 - filling is not what is measured
        for number in range(trials):
            began = whole.began_ns + number * _HOUR_NS // 4
            trial = replace(whole, began_ns=began, ended_ns=began + 10**9)
            made = store.begin(replace(make_trials.running(trial), rounds=trial.rounds))
            store.finish(replace(trial, id=made))


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

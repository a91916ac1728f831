"""The store of trials: what was asked, measured and concluded, kept so that it can be worked out again later.

Rounds are on the disk when :meth:`Store.add_round` returns: a process that is killed loses the one that it was
measuring. Nothing that is stored is changed; old trials go as a whole (:class:`Retention`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, BinaryIO, Self

from tuneagent.model.errors import ParseError
from tuneagent.model.history import TrialFilter, TrialSummary
from tuneagent.model.trial import Decision, Round, Trial, TrialState
from tuneagent.record import database, documents, exchange
from tuneagent.record.documents import Ending, Nouns, Packed
from tuneagent.record.errors import StoreError, Trouble
from tuneagent.record.exchange import Imported
from tuneagent.record.known import Known

_SUMMARY = (
    "id, began_ns, ended_ns, version, policy, subject, title, primary_metric, state, decision, kept, transaction_id,"
    " percent, low_percent, high_percent, pairs, rounds, origin"
)
_DAY_NS = 86_400 * 10**9
_NO_ID = -1
_Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Retention:
    """How much is kept. Applied when a trial begins, by that trial's own time."""

    trials: int = 10_000
    days: int = 730
    always: int = 1_000
    """The newest, which do not go by age: a clock that is years ahead for a minute must not empty the store."""


class Store:
    """The trials in the file ``path``. Every method raises StoreError, and has then changed nothing.

    The file is made, 0600 in a directory 0700, unless ``make`` is False: then one that is not there is
    Trouble.MISSING. A file or directory that others than root and this process's user may write is refused.
    """

    def __init__(self, path: str, *, make: bool = True, retention: Retention | None = None) -> None:
        self.path = os.path.abspath(path)
        self._retention = retention or Retention()
        self._opened = database.opened(self.path, make=make)
        self._connection, self._locks = self._opened.connection, self._opened.locks

    def close(self) -> None:
        """Lets go of the file. A trial that was begun and not finished is interrupted from now on."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def begin(self, trial: Trial) -> int:
        """Stores what is known before the first round, and any rounds that there are; gives the trial's id.

        It counts as running until :meth:`finish`, or until this process ends. Trials beyond the retention go.
        """
        with self._errors():
            rows = documents.packed(replace(trial, state=TrialState.RUNNING))
            number = _NO_ID
            try:
                with self._writing():
                    number = self._insert(rows)
                    self._locks.take(number)  # before anybody can see it
                    self._prune(trial.began_ns, number)
            except BaseException:
                self._locks.drop(number)
                raise
        return number

    def add_round(self, number: int, measured: Round) -> None:
        """Appends a round to a trial that runs; one whose number is there already takes its place when it is read."""
        with self._errors(f"trial {number}"):
            body = documents.pack(measured)
            with self._writing():
                place = self._running(number)
                self._connection.execute("INSERT INTO round VALUES (?, ?, ?)", (number, place, body))
                self._connection.execute("UPDATE trial SET rounds = rounds + 1 WHERE id = ?", (number,))

    def finish(self, trial: Trial) -> None:
        """Stores how the trial ``trial.id`` ended: state, verdict, kept, transaction, why. Its rounds are stored."""
        with self._errors(f"trial {trial.id}"):
            columns = documents.ended_columns(trial)
            ending = documents.pack(Ending(trial.state, trial.verdict, trial.why))
            setting = ", ".join(f"{name} = :{name}" for name in columns)
            with self._writing():
                stored = self._running(trial.id)
                rounds = min(stored, len(trial.rounds)) or stored
                values = {**columns, "id": trial.id, "rounds": rounds}
                self._connection.execute(f"UPDATE trial SET {setting}, rounds = :rounds WHERE id = :id", values)  # noqa: S608 - our own names
                self._document(trial.id, "ending", ending)
            self._locks.drop(trial.id)

    def load(self, number: int) -> Trial:
        """A whole trial; MISSING where there is none. One that nobody runs any more is interrupted."""
        with self._errors(f"trial {number}", Trouble.CORRUPT), self._reading():
            row = self._summaries("WHERE id = ?", (_sql(number),))
            if not row:
                raise StoreError(self.path, f"there is no trial {number}", Trouble.MISSING)
            return _whole(row[0], documents.nouns(*self._bodies(number)))

    def list(
        self,
        limit: int = 50,
        offset: int = 0,
        filters: TrialFilter = TrialFilter(),  # noqa: B008 - frozen
    ) -> tuple[TrialSummary, ...]:
        """The newest first, without reading a document."""
        with self._errors(), self._reading():
            where, values = self._where(filters)
            order = "ORDER BY began_ns DESC, id DESC LIMIT ? OFFSET ?"
            return self._summaries(f"{where} {order}", (*values, _sql(limit), _sql(offset)))

    def count(self, filters: TrialFilter = TrialFilter()) -> int:  # noqa: B008 - frozen
        """How many :meth:`list` has in all."""
        with self._errors(), self._reading():
            where, values = self._where(filters)
            return int(self._all(f"SELECT count(*) FROM trial {where}", values)[0][0])  # noqa: S608 - our own words

    def export(self, numbers: Iterable[int] | None = None) -> Iterator[bytes]:
        """Trials as lines of JSON, ``tuneagent.trial/1``; all, oldest first, where none are named."""
        with self._errors():
            every = [number for (number,) in self._all("SELECT id FROM trial ORDER BY id", ())]
        for number in every if numbers is None else numbers:
            yield exchange.line(self.load(number))

    def import_(self, lines: BinaryIO, name: str) -> Imported:
        """Reads what :meth:`export` wrote, all of it or nothing. What is here already is not stored again.

        Trials get new ids. REFUSED, with ``name`` and the line, for what is no trial.
        """
        with self._errors():
            found = exchange.read(lines, name)
            with self._writing("nothing of the file is in it"):
                return self._take_in(found)

    def _take_in(self, found: Iterable[Packed]) -> Imported:
        stored, here = list[int](), 0
        known = Known(self._began_at, lambda number: documents.nouns(*self._bodies(number)))
        for rows in found:
            if known.has(rows):
                here += 1
            else:
                stored.append(self._insert(rows))
        return Imported(tuple(stored), here)

    def _began_at(self, began_ns: int) -> tuple[int, ...]:
        return tuple(number for (number,) in self._all("SELECT id FROM trial WHERE began_ns = ?", (began_ns,)))

    def _bodies(self, number: int) -> tuple[bytes, bytes | None, tuple[bytes, ...]]:
        """The documents of a trial; of one without a beginning, which is damaged, an empty one."""
        kinds: dict[str, bytes] = dict(self._all("SELECT kind, body FROM document WHERE trial = ?", (number,)))
        rounds = self._all("SELECT body FROM round WHERE trial = ? ORDER BY place", (number,))
        return kinds.get("beginning", b""), kinds.get("ending"), tuple(body for (body,) in rounds)

    def _insert(self, rows: Packed) -> int:
        columns = {**rows.columns, "rounds": len(rows.rounds)}
        names, marks = ", ".join(columns), ", ".join(f":{name}" for name in columns)
        done = self._connection.execute(f"INSERT INTO trial ({names}) VALUES ({marks})", columns)  # noqa: S608 - our own names
        number = int(done.lastrowid or 0)
        self._document(number, "beginning", rows.beginning)
        if rows.ending is not None:
            self._document(number, "ending", rows.ending)
        numbered = ((number, place, body) for place, body in enumerate(rows.rounds))
        self._connection.executemany("INSERT INTO round VALUES (?, ?, ?)", numbered)
        return number

    def _document(self, number: int, kind: str, body: bytes) -> None:
        self._connection.execute("INSERT INTO document VALUES (?, ?, ?)", (number, kind, body))

    def _running(self, number: int) -> int:
        """How many rounds a running trial has."""
        rows = self._all("SELECT state, rounds FROM trial WHERE id = ?", (_sql(number),))
        if not rows:
            raise StoreError(self.path, f"there is no trial {number}", Trouble.MISSING)
        if rows[0][0] != TrialState.RUNNING:
            raise StoreError(self.path, f"trial {number} has ended", Trouble.REFUSED)
        return int(rows[0][1])

    def _prune(self, now_ns: int, newest: int) -> None:
        keep = self._retention
        beyond = "SELECT id, began_ns FROM trial ORDER BY began_ns DESC, id DESC LIMIT -1 OFFSET ?"
        rows = self._all(beyond, (keep.trials,))
        oldest = now_ns - keep.days * _DAY_NS
        rows += self._all(f"SELECT * FROM ({beyond}) WHERE began_ns < ?", (keep.always, oldest))  # noqa: S608 - our own words
        going = {number for number, _ in rows} - {newest} - self._alive()
        self._connection.executemany("DELETE FROM trial WHERE id = ?", [(number,) for number in going])

    def _alive(self) -> set[int]:
        """Trials that a process is running, this one or another."""
        rows = self._all("SELECT id FROM trial WHERE state = ?", (TrialState.RUNNING.value,))
        return {number for (number,) in rows if self._locks.is_held(number)}

    def _summaries(self, rest: str, values: tuple[Any, ...]) -> tuple[TrialSummary, ...]:
        alive = self._alive()
        rows = self._connection.execute(f"SELECT {_SUMMARY} FROM trial {rest}", values)  # noqa: S608 - our own words
        try:
            return tuple(_summary(row, alive) for row in rows)
        except ValueError as error:  # a state or a decision that there is none
            raise StoreError(self.path, f"it is damaged: {error}", Trouble.CORRUPT) from error

    def _where(self, filters: TrialFilter) -> tuple[str, tuple[Any, ...]]:
        parts: list[tuple[str, Any]] = []
        if filters.policy is not None:
            parts.append(("policy = ?", documents.column(filters.policy)))
        if filters.subject is not None:
            parts.append(("subject = ?", documents.column(filters.subject)))
        if filters.decision is not None:
            parts.append(("decision = ?", filters.decision.value))
        if filters.state is not None:
            parts.append((self._state(filters.state), filters.state.value))
        words = " AND ".join(words for words, _ in parts)
        return (f"WHERE {words}" if words else ""), tuple(value for _, value in parts)

    def _state(self, state: TrialState) -> str:
        # Who runs is not in the table: it is what the kernel says of the locks.
        alive = ", ".join(map(str, sorted(self._alive())))
        if state is TrialState.RUNNING:
            return f"(state = ? AND id IN ({alive}))"
        if state is TrialState.INTERRUPTED:
            return f"(state = ? OR (state = '{TrialState.RUNNING.value}' AND id NOT IN ({alive})))"
        return "state = ?"

    def _all(self, question: str, values: tuple[Any, ...]) -> _Rows:
        return self._connection.execute(question, values).fetchall()

    @contextmanager
    def _writing(self, lost: str = "this trial is not in it") -> Iterator[None]:
        """One transaction, into the file that is at the path before and after it.

        Before: what is written goes beside the path too, where it would meet another's database. After: what was
        written while somebody removed the file is gone.
        """
        self._refuse_replaced(lost)
        with database.writing(self._connection):
            yield
        self._refuse_replaced(lost)

    def _refuse_replaced(self, lost: str) -> None:
        if not self._opened.is_at(self.path):
            gone = "the store was removed or replaced while it was open"
            raise StoreError(self.path, f"{gone}: {lost}", Trouble.FAILED)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """One moment of the store, whoever writes meanwhile."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                self._connection.execute("COMMIT")

    @contextmanager
    def _errors(self, what: str = "", trouble: Trouble = Trouble.REFUSED) -> Iterator[None]:
        with database.errors(self.path):
            try:
                yield
            except ParseError as error:
                place = f"{what}: " if what else ""
                damaged = "it is damaged: " if trouble is Trouble.CORRUPT else ""
                raise StoreError(self.path, f"{place}{damaged}{error}", trouble) from error


def _sql(value: int) -> int:
    """A number as SQLite takes it: one above its range is in no row."""
    return value if 0 <= value <= documents.I64_MAX else _NO_ID


def _summary(row: tuple[Any, ...], alive: set[int]) -> TrialSummary:
    number, state, decision, kept = row[0], TrialState(row[8]), row[9], row[10]
    if state is TrialState.RUNNING and number not in alive:
        state = TrialState.INTERRUPTED
    chosen = None if decision is None else Decision(decision)
    values = (*row[:8], state, chosen, None if kept is None else bool(kept), *row[11:])
    return TrialSummary(*values)


def _whole(row: TrialSummary, told: Nouns) -> Trial:
    beginning, ending, rounds = told
    return Trial(
        id=row.id,
        began_ns=row.began_ns,
        ended_ns=row.ended_ns,
        version=row.version,
        question=beginning.question,
        facts=beginning.facts,
        rounds=rounds,
        state=row.state,
        verdict=None if ending is None else ending.verdict,
        kept=row.kept,
        transaction=row.transaction,
        why="" if ending is None else ending.why,
        origin=row.origin,
    )

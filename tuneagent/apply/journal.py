"""The journal: what a transaction is about to do stands on the disk before it is done. One file each, JSON Lines."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from tuneagent.apply import journal_records as records
from tuneagent.apply import journal_values as values
from tuneagent.apply.journal_records import Fields
from tuneagent.apply.journal_telling import MOST_ENTRIES, MOST_FILE_BYTES, Known, Telling, is_closed, tell, whole
from tuneagent.apply.journal_values import MOST_LINE_BYTES
from tuneagent.machine.state_directory import StateDirectory
from tuneagent.model.transaction import Deadline, Effect, Entry, Outcome, State, Transaction, Writer

MOST_INTENT_BYTES = MOST_FILE_BYTES // 2
"""What may be announced in one file: the other half is for what becomes of it."""
MOST_DETAIL = 500
KEEP = 200
_LAST_ID = 10**15
_NAME = re.compile(r"([0-9]{8,15})\.journal", re.ASCII)


class JournalError(Exception):
    """A journal cannot be used; ``line`` from 1, None where it is about the whole file."""

    def __init__(self, file: str, line: int | None, detail: str) -> None:
        super().__init__(f"{file}: {detail}" if line is None else f"{file}: line {line}: {detail}")
        self.file = file
        self.line = line
        self.detail = detail


class Journal:
    """The record of one transaction, to be written on.

    Every method that records raises OSError as the disk gives it, and EFBIG where the journal has reached one of its
    bounds. What was recorded before is then as it was. ValueError is a record that cannot be: a fault of the caller.
    """

    def __init__(self, directory: StateDirectory, number: int, telling: Telling, data: bytes = b"") -> None:
        self._directory = directory
        self._name = name_of(number)
        self._telling = telling
        self._size = whole(data)
        self._torn = self._size < len(data)
        self.id = number

    @property
    def transaction(self) -> Transaction:
        """As recorded so far."""
        transaction = self._telling.transaction()
        if transaction is None:
            raise JournalError(self._name, None, "nothing was recorded in it")
        return transaction

    def begin(self, first: Iterable[Fields]) -> None:
        """The first records; for the store."""
        self._record(first, durable=True)

    def intend(self, entries: Sequence[Entry]) -> None:
        """Announces changes; they are on the disk when this returns."""
        if len(self._telling) + len(entries) > MOST_ENTRIES:
            raise OSError(errno.EFBIG, f"more than {MOST_ENTRIES} changes in one transaction", self._name)
        self._record(map(records.intent, entries), durable=True, most=MOST_INTENT_BYTES)

    def outcome(self, index: int, outcome: Outcome, detail: str = "") -> None:
        """What became of a change."""
        self._record([_became("outcome", index, outcome, detail)])

    def effect(self, index: int, effect: Effect, detail: str) -> None:
        """Whether a change is in effect."""
        said = records.plain(detail, MOST_DETAIL)
        self._record([{"record": "effect", "index": index, "effect": effect, "detail": said}])

    def kept(self, until: Deadline) -> None:
        """Tells the deadline once more, with the guardian that waits for it: it is younger than the record."""
        self._record([records.deadline(until)])

    def commit(self) -> None:
        """It stands; that is on the disk when this returns."""
        self._record([{"record": "commit"}], durable=True)

    def confirm(self) -> None:
        """It stands beyond its deadline; that is on the disk when this returns."""
        self._record([{"record": "confirm"}], durable=True)

    def undoing(self, why: str) -> None:
        """It is being given back from here on."""
        said = records.plain(why, MOST_DETAIL)
        if self._telling.base.undone_why != said:
            self._record([{"record": "undo", "why": said}])

    def given_back(self, index: int, outcome: Outcome, detail: str = "") -> None:
        """What the undo made of a change. What is recorded already is not again: an undo may be tried for years."""
        record = _became("given-back", index, outcome, detail)
        if self._telling.became(index) != (outcome, record["detail"]):
            self._record([record])

    def end(self) -> None:
        """All that was still ours is given back; that is on the disk when this returns."""
        if self._telling.base.state is not State.UNDONE:
            self._record([{"record": "end"}], durable=True)

    def _record(self, new: Iterable[Fields], *, durable: bool = False, most: int = MOST_FILE_BYTES) -> None:
        try:
            self._append(list(new), durable=durable, most=most)
        except BaseException:
            self._recall()
            raise

    def _append(self, new: list[Fields], *, durable: bool, most: int) -> None:
        lines = [records.line(record) for record in new]
        if any(len(line) > MOST_LINE_BYTES for line in lines):
            raise OSError(errno.EFBIG, f"a record of more than {MOST_LINE_BYTES} bytes", self._name)
        data = b"".join(lines)
        if self._size + len(data) > most:
            raise OSError(errno.EFBIG, f"more than {most} bytes in one journal", self._name)
        for record in new:
            self._telling.take(values.told(record))
        if self._torn:
            self._directory.cut(self._name, self._size)
            self._torn = False
        # A number that is taken, whatever the directory's list said, must not get a second beginning.
        self._directory.append(self._name, data, durable=durable, new=not self._size)
        self._size += len(data)

    def _recall(self) -> None:
        """After a record that may have got there in part, knows again what the file has."""
        self._torn = True
        with suppress(OSError):
            data = self._directory.read(self._name, MOST_FILE_BYTES)
            telling, wrong = tell(data, self.id)
            if wrong is None:
                self._telling, self._size = telling, whole(data)


class Store:
    """All journals of a state directory. Whoever writes holds its lock."""

    def __init__(self, directory: StateDirectory) -> None:
        self._directory = directory

    def begin(
        self,
        *,
        boot_id: str | None,
        version: str,
        writer: Writer,
        command: str,
        policies: Sequence[str] = (),
        deadline: Deadline | None,
        now_ns: int,
        provisional: bool = False,
    ) -> Journal:
        """A new transaction, with a number that none had before. OSError where it cannot be recorded."""
        number = max(self.numbers(), default=0) + 1
        if number >= _LAST_ID:
            raise JournalError(name_of(number - 1), None, "no number comes after it")
        journal = Journal(self._directory, number, Telling(number))
        first = records.begin(
            now_ns=now_ns,
            boot_id=boot_id,
            version=version,
            writer=writer,
            command=command,
            policies=policies,
            provisional=provisional,
        )
        journal.begin([first] if deadline is None else [first, records.deadline(deadline)])
        return journal

    def open(self, number: int) -> Journal:
        """A journal to be written on. JournalError where there is none, or where it is damaged."""
        data = self._read(number)
        telling, wrong = tell(data, number)
        if wrong is not None:
            raise JournalError(name_of(number), wrong.line, wrong.detail)
        if telling.transaction() is None:
            raise JournalError(name_of(number), None, "nothing was recorded in it")
        return Journal(self._directory, number, telling, data)

    def load(self, number: int) -> Transaction:
        """A transaction as recorded, up to its damage where it has one. JournalError where there is none."""
        transaction = load(self._read(number), number)
        if transaction is None:
            raise JournalError(name_of(number), None, "nothing was recorded in it")
        return transaction

    def numbers(self) -> frozenset[int]:
        """Of every transaction. OSError."""
        found = (_NAME.fullmatch(name) for name in self._directory.names())
        return frozenset(int(one[1]) for one in found if one and one[0] == name_of(int(one[1])))

    def all(self) -> tuple[Transaction, ...]:
        """Every transaction, oldest first; one whose file cannot be read has that for its damage."""
        return tuple(self._each())

    def not_undone(self) -> tuple[Transaction, ...]:
        """Those that were not given back whole, oldest first: an old journal that is closed costs no more than a look.

        What is wrong inside of a closed one is told by ``all`` only.
        """
        return tuple(self._each(closed=False))

    def prune(self, keep: int = KEEP) -> None:
        """Removes the oldest of more than ``keep``; never one that may still stand, nor the newest."""
        known: Known = {}
        numbers = sorted(self.numbers())
        spare = len(numbers) - max(keep, 1)
        for number in numbers[:-1]:
            if spare <= 0:
                break
            transaction = self._lenient(number, known, closed=False)
            if transaction is None or not (transaction.stands or transaction.damage):
                self._directory.remove(name_of(number))
                spare -= 1

    def _each(self, *, closed: bool = True) -> Iterator[Transaction]:
        known: Known = {}
        for number in sorted(self.numbers()):
            transaction = self._lenient(number, known, closed=closed)
            if transaction is not None:
                yield transaction

    def _lenient(self, number: int, known: Known, *, closed: bool) -> Transaction | None:
        try:
            data = self._directory.read(name_of(number), MOST_FILE_BYTES)
        except OSError as error:
            return _unknown(number, str(JournalError(name_of(number), None, error.strerror or str(error))))
        return load(data, number, known) if closed or not is_closed(data) else None

    def _read(self, number: int) -> bytes:
        try:
            return self._directory.read(name_of(number), MOST_FILE_BYTES)
        except FileNotFoundError:
            raise JournalError(name_of(number), None, "there is no such transaction") from None


def name_of(number: int) -> str:
    """The file of a transaction: ``00000012.journal``."""
    return f"{number:08d}.journal"


def load(data: bytes, number: int, known: Known | None = None) -> Transaction | None:
    """The transaction that a journal's bytes tell; None before its first record is whole. Pure."""
    telling, wrong = tell(data, number, known)
    damage = "" if wrong is None else str(JournalError(name_of(number), wrong.line, wrong.detail))
    transaction = telling.transaction(damage)
    return _unknown(number, damage) if transaction is None and damage else transaction


def _unknown(number: int, damage: str) -> Transaction:
    """One of which nothing is known but its damage: for all that can be told, it stands."""
    return Transaction(number, None, None, "", None, "", (), State.OPEN, damage=damage)


def _became(kind: str, index: int, outcome: Outcome, detail: str) -> Fields:
    return {"record": kind, "index": index, "outcome": outcome, "detail": records.plain(detail, MOST_DETAIL)}

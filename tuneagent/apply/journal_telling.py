"""How the records of a journal add up to a transaction. Pure.

A record is an object with the member ``record``: begin, deadline, intent, outcome, effect, commit, confirm, undo,
given-back, end. Members that a later version added are not looked at; a kind of record that this one does not know is
damage, for it may say what became of a change.

A record counts when its newline is there: what follows the last newline was torn by the end of the agent or of the
machine, and whoever goes on writing cuts it off first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tuneagent.apply import journal_values as values
from tuneagent.apply.journal_records import Fields
from tuneagent.model.errors import ParseError
from tuneagent.model.transaction import Effect, Entry, Outcome, State, Transaction
from tuneagent.parse.lines import shown

MOST_ENTRIES = 4096
MOST_FILE_BYTES = 16 * 1024 * 1024
_CLOSED = b'\n{"record":"end"}\n'


class Telling:
    """What the records so far tell. ``take`` raises ParseError for a record that cannot be, and changes nothing."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._base: Transaction | None = None
        self._announced: dict[int, Entry] = {}
        # Apart from the entries until somebody asks: a status reads thousands of them, and a noun is dear to replace.
        self._became: dict[int, tuple[Outcome, str]] = {}
        self._effects: dict[int, tuple[Effect, str]] = {}

    def __len__(self) -> int:
        """How many changes were announced."""
        return len(self._announced)

    def transaction(self, damage: str = "") -> Transaction | None:
        """The transaction by now; None before it began."""
        if self._base is None:
            return None
        return replace(self._base, entries=tuple(map(self._entry, self._announced.values())), damage=damage)

    def became(self, index: int) -> tuple[Outcome, str] | None:
        """The last outcome of a change, with its detail; None where there is no such change."""
        entry = self._announced.get(index)
        return None if entry is None else self._became.get(index, (entry.outcome, entry.detail))

    def _entry(self, entry: Entry) -> Entry:
        index = entry.index
        outcome, detail = self._became.get(index, (entry.outcome, entry.detail))
        effect, effect_detail = self._effects.get(index, (entry.effect, entry.effect_detail))
        # Spelt out, for dataclasses.replace() takes five times as long.
        return Entry(
            index,
            entry.policy,
            entry.kind,
            entry.target,
            entry.where,
            entry.old,
            entry.new,
            entry.why,
            entry.lasts,
            entry.kept,
            outcome,
            detail,
            effect,
            effect_detail,
            entry.previous,
        )

    def take(self, kind: str, record: Fields) -> None:
        """Adds one record."""
        taken = _TAKEN.get(kind)
        if taken is None:
            raise ParseError(f"$.record: {shown(kind)} is no record that this version knows")
        if (self._base is None) is not (kind == "begin"):
            raise ParseError("begins a second time" if kind == "begin" else f"{kind} before the beginning")
        taken(self, record)

    @property
    def base(self) -> Transaction:
        """The transaction without its changes."""
        assert self._base is not None  # noqa: S101 - take() lets nothing but a beginning through before it
        return self._base

    def begin(self, record: Fields) -> None:
        """Who, when, with which command."""
        self._base = values.begin(record, self.number)

    def deadline(self, record: Fields) -> None:
        """Undone then, unless somebody confirms it."""
        self._base = replace(self.base, deadline=values.deadline(record))

    def intent(self, record: Fields) -> None:
        """One more change."""
        self._require_open("intent")
        entry = values.entry(record)
        if entry.index in self._announced:
            raise ParseError(f"$.index: change {entry.index} is announced a second time")
        if len(self._announced) >= MOST_ENTRIES:
            raise ParseError(f"more than {MOST_ENTRIES} changes")
        self._announced[entry.index] = entry

    def outcome(self, record: Fields) -> None:
        """What became of a change."""
        self._require_open("outcome")
        self.given_back(record)

    def given_back(self, record: Fields) -> None:
        """What the undo made of a change."""
        index = self._known(record)
        self._became[index] = values.outcome(record)

    def effect(self, record: Fields) -> None:
        """Whether it is what happens."""
        index = self._known(record)
        self._effects[index] = values.effect(record)

    def commit(self, record: Fields) -> None:  # noqa: ARG002 - its kind says it all
        """It stands."""
        self._require_open("commit")
        self._base = replace(self.base, state=State.COMMITTED)

    def confirm(self, record: Fields) -> None:  # noqa: ARG002 - as above
        """It stands beyond its deadline."""
        self._base = replace(self.base, confirmed=True)

    def undo(self, record: Fields) -> None:
        """It is being given back."""
        self._base = replace(self.base, undone_why=values.text(record.get("why"), "$.why"))

    def end(self, record: Fields) -> None:  # noqa: ARG002 - as above
        """All that was still ours is given back."""
        self._base = replace(self.base, state=State.UNDONE)

    def _require_open(self, kind: str) -> None:
        if self._base is not None and self._base.state is not State.OPEN:
            raise ParseError(f"{kind} in a transaction that is {self._base.state} already")

    def _known(self, record: Fields) -> int:
        index = values.index(record)
        if index not in self._announced:
            raise ParseError(f"$.index: change {index} was never announced")
        return index


_TAKEN: dict[str, Callable[[Telling, Fields], None]] = {
    "begin": Telling.begin,
    "deadline": Telling.deadline,
    "intent": Telling.intent,
    "outcome": Telling.outcome,
    "effect": Telling.effect,
    "commit": Telling.commit,
    "confirm": Telling.confirm,
    "undo": Telling.undo,
    "given-back": Telling.given_back,
    "end": Telling.end,
}


def whole(data: bytes) -> int:
    """How many of a journal's bytes are records; what is behind them is torn."""
    return data.rfind(b"\n") + 1


def is_closed(data: bytes) -> bool:
    """Whether the last record says that all is given back; the others are not looked at."""
    return data.endswith(_CLOSED)


def tell(data: bytes, number: int) -> tuple[Telling, ParseError | None]:
    """What a journal's bytes tell, and what is wrong in them (with its line): nothing after that can be trusted."""
    telling = Telling(number)
    if len(data) > MOST_FILE_BYTES:
        return telling, ParseError(f"larger than {MOST_FILE_BYTES} bytes")
    # A byte that is no UTF-8 becomes an escape, which only a value may hold that is written again as it was.
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    for place, text in enumerate(lines[:-1], 1):
        try:
            telling.take(*values.record(text))
        except ParseError as error:
            return telling, ParseError(error.detail, place)
    return telling, None

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
from typing import Any, ClassVar

from tuneagent.apply import journal_values as values
from tuneagent.apply.journal_values import Told
from tuneagent.model.errors import ParseError
from tuneagent.model.transaction import Deadline, Effect, Entry, Outcome, State, Transaction

MOST_ENTRIES = 4096
MOST_FILE_BYTES = 16 * 1024 * 1024
MOST_KNOWN = 16_384
MOST_KNOWN_LENGTH = 1000
_CLOSED = b'\n{"record":"end"}\n'

Known = dict[str, Told]
"""Lines that were read before, with what they tell: up to MOST_KNOWN of them, none longer than MOST_KNOWN_LENGTH."""


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
            entry.tried,
        )

    def take(self, told: Told) -> None:
        """Adds one record."""
        kind, value = told
        if (self._base is None) is not (kind == "begin"):
            raise ParseError("begins a second time" if kind == "begin" else f"{kind} before the beginning")
        self._TAKEN[kind](self, value)

    @property
    def base(self) -> Transaction:
        """The transaction without its changes."""
        assert self._base is not None  # noqa: S101 - take() lets nothing but a beginning through before it
        return self._base

    def _begin(self, base: Transaction) -> None:
        self._base = replace(base, id=self.number)

    def _deadline(self, until: Deadline) -> None:
        self._base = replace(self.base, deadline=until)

    def _intent(self, entry: Entry) -> None:
        self._require_open("intent")
        if entry.index in self._announced:
            raise ParseError(f"$.index: change {entry.index} is announced a second time")
        if len(self._announced) >= MOST_ENTRIES:
            raise ParseError(f"more than {MOST_ENTRIES} changes")
        self._announced[entry.index] = entry

    def _outcome(self, told: tuple[int, tuple[Outcome, str]]) -> None:
        self._require_open("outcome")
        self._given_back(told)

    def _given_back(self, told: tuple[int, tuple[Outcome, str]]) -> None:
        self._require_announced(told[0])
        self._became[told[0]] = told[1]

    def _effect(self, told: tuple[int, tuple[Effect, str]]) -> None:
        self._require_announced(told[0])
        self._effects[told[0]] = told[1]

    def _commit(self, _: None) -> None:
        self._require_open("commit")
        self._base = replace(self.base, state=State.COMMITTED)

    def _confirm(self, _: None) -> None:
        self._base = replace(self.base, confirmed=True)

    def _undo(self, why: str) -> None:
        self._base = replace(self.base, undone_why=why)

    def _end(self, _: None) -> None:
        self._base = replace(self.base, state=State.UNDONE)

    def _require_open(self, kind: str) -> None:
        if self._base is not None and self._base.state is not State.OPEN:
            raise ParseError(f"{kind} in a transaction that is {self._base.state} already")

    def _require_announced(self, index: int) -> None:
        if index not in self._announced:
            raise ParseError(f"$.index: change {index} was never announced")

    _TAKEN: ClassVar[dict[str, Callable[[Telling, Any], None]]] = {
        "begin": _begin,
        "deadline": _deadline,
        "intent": _intent,
        "outcome": _outcome,
        "effect": _effect,
        "commit": _commit,
        "confirm": _confirm,
        "undo": _undo,
        "given-back": _given_back,
        "end": _end,
    }


def whole(data: bytes) -> int:
    """How many of a journal's bytes are records; what is behind them is torn."""
    return data.rfind(b"\n") + 1


def is_closed(data: bytes) -> bool:
    """Whether the last record says that all is given back; the others are not looked at."""
    return data.endswith(_CLOSED)


def tell(data: bytes, number: int, known: Known | None = None) -> tuple[Telling, ParseError | None]:
    """What a journal's bytes tell, and what is wrong in them (with its line): nothing after that can be trusted.

    ``known`` is filled with what was read, for the next journal: the same changes are made again and again.
    """
    telling = Telling(number)
    if len(data) > MOST_FILE_BYTES:
        return telling, ParseError(f"larger than {MOST_FILE_BYTES} bytes")
    # A byte that is no UTF-8 becomes an escape, which only a value may hold that is written again as it was.
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    for place, text in enumerate(lines[:-1], 1):
        try:
            telling.take(_told(text, known))
        except ParseError as error:
            return telling, ParseError(error.detail, place)
    return telling, None


def _told(text: str, known: Known | None) -> Told:
    if known is None:
        return values.line(text)
    told = known.get(text)
    if told is None:
        told = values.line(text)
        if len(known) < MOST_KNOWN and len(text) <= MOST_KNOWN_LENGTH:
            known[text] = told
    return told

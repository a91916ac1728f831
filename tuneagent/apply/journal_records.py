"""The records of a journal: one line of JSON each, and how they add up to a transaction. Pure.

A record is an object with the member ``record``: begin, deadline, intent, outcome, effect, commit, confirm, undo,
given-back, end. Members that a later version added are not looked at; a kind of record that this one does not know is
damage, for it may say what became of a change.

A record counts when its newline is there: what follows the last newline was torn by the end of the agent or of the
machine, and whoever goes on writing cuts it off first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from tuneagent.model.errors import ParseError
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Deadline, Effect, Entry, Kept, Lasts, Outcome, State, Transaction, Writer
from tuneagent.parse import json_values
from tuneagent.parse.json_values import natural
from tuneagent.parse.lines import U32_MAX, shown

MOST_ENTRIES = 4096
MOST_LINE_BYTES = 1024 * 1024
MOST_FILE_BYTES = 16 * 1024 * 1024
MOST_KEPT = 4096
MOST_TEXT = 4096
"""Characters of what is for people; values that are written again are bounded by their line alone."""
MOST_SECONDS = 10**9

_Choice = TypeVar("_Choice", bound=StrEnum)
Fields = dict[str, Any]

_KINDS = {kind.value: kind for kind in TunableKind}
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_EFFECTS = {effect.value: effect for effect in Effect}
_LASTS = {lasts.value: lasts for lasts in Lasts}
_TARGET_FIELDS = tuple(field.name for field in fields(Target))


def line(record: Fields) -> bytes:
    """A record as it stands in the file. ASCII only: a value that was no UTF-8 is kept by its escapes."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def plain(text: str, most: int = MOST_TEXT) -> str:
    """A text for people as a journal keeps it: one line, nothing unprintable, at most ``most`` characters."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escaped(char) for char in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _escaped(char: str) -> str:
    return " " if char.isspace() else char.encode("unicode_escape").decode("ascii")


def begin(*, now_ns: int, boot_id: str | None, version: str, writer: Writer, command: str, policies: Any) -> Fields:
    """The first record of every journal."""
    return {
        "record": "begin",
        "at_ns": now_ns,
        "boot_id": boot_id,
        "version": plain(version),
        "writer": {"pid": writer.pid, "start_ticks": writer.start_ticks, "user": plain(writer.user)},
        "command": plain(command),
        "policies": [plain(policy) for policy in policies],
    }


def deadline(until: Deadline) -> Fields:
    """Until when the transaction must be confirmed."""
    return {
        "record": "deadline",
        "at_ns": until.at_ns,
        "at_boottime_ns": until.at_boottime_ns,
        "seconds": until.seconds,
    }


def intent(entry: Entry) -> Fields:
    """A change before it is made, or one that was never tried with what kept it from that."""
    record = {
        "record": "intent",
        "index": entry.index,
        "policy": plain(entry.policy),
        "kind": entry.kind,
        "target": _target_fields(entry.target),
        "where": plain(entry.where),
        "old": entry.old,
        "new": entry.new,
        "why": plain(entry.why),
        "lasts": entry.lasts,
    }
    further = {
        "kept": [_kept_fields(kept) for kept in entry.kept],
        "outcome": None if entry.outcome is Outcome.INTENDED else entry.outcome,
        "detail": plain(entry.detail),
        "effect": entry.effect,
        "effect_detail": plain(entry.effect_detail),
        "previous": entry.previous,
    }
    return record | {key: value for key, value in further.items() if value}


def _target_fields(target: Target) -> Fields:
    named = ((name, getattr(target, name)) for name in _TARGET_FIELDS)
    return {name: value for name, value in named if value is not None}


def _kept_fields(kept: Kept) -> Fields:
    target = _target_fields(kept.target)
    return {"kind": kept.kind, "target": target, "where": plain(kept.where), "value": kept.value}


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

    def take(self, record: Any) -> None:
        """Adds one record."""
        if type(record) is not dict:
            raise ParseError("$: not an object")
        kind = record.get("record")
        taken = _TAKEN.get(kind) if type(kind) is str else None
        if taken is None:
            said = shown(kind) if isinstance(kind, str) else "what is no string"
            raise ParseError(f"$.record: {said} is no record that this version knows")
        if (self._base is None) is not (kind == "begin"):
            raise ParseError("begins a second time" if kind == "begin" else f"{kind} before the beginning")
        taken(self, record)

    @property
    def base(self) -> Transaction:
        """The transaction without its changes."""
        assert self._base is not None  # noqa: S101 - take() lets nothing but a beginning through before it
        return self._base

    def begin(self, record: Fields) -> None:
        """begin: who, when, with which command."""
        boot_id = record.get("boot_id")
        self._base = Transaction(
            id=self.number,
            began_ns=natural(record.get("at_ns"), "$.at_ns"),
            boot_id=None if boot_id is None else _text(boot_id, "$.boot_id"),
            version=_text(record.get("version"), "$.version"),
            writer=_writer(record.get("writer")),
            command=_text(record.get("command"), "$.command"),
            entries=(),
            state=State.OPEN,
        )

    def deadline(self, record: Fields) -> None:
        """deadline: undone then, unless somebody confirms it."""
        until = Deadline(
            natural(record.get("at_ns"), "$.at_ns"),
            natural(record.get("at_boottime_ns"), "$.at_boottime_ns"),
            _seconds(record.get("seconds")),
        )
        self._base = replace(self.base, deadline=until)

    def intent(self, record: Fields) -> None:
        """intent: one more change."""
        self._require_open("intent")
        entry = _entry(record)
        if entry.index in self._announced:
            raise ParseError(f"$.index: change {entry.index} is announced a second time")
        if len(self._announced) >= MOST_ENTRIES:
            raise ParseError(f"more than {MOST_ENTRIES} changes")
        self._announced[entry.index] = entry

    def outcome(self, record: Fields) -> None:
        """outcome: what became of a change."""
        self._require_open("outcome")
        self.given_back(record)

    def given_back(self, record: Fields) -> None:
        """given-back: what the undo made of a change."""
        index = self._known(record)
        self._became[index] = (_choice(_OUTCOMES, record.get("outcome"), "$.outcome"), _further(record, "detail"))

    def effect(self, record: Fields) -> None:
        """effect: whether it is what happens."""
        index = self._known(record)
        self._effects[index] = (_choice(_EFFECTS, record.get("effect"), "$.effect"), _further(record, "detail"))

    def commit(self, record: Fields) -> None:  # noqa: ARG002 - its kind says it all
        """commit: it stands."""
        self._require_open("commit")
        self._base = replace(self.base, state=State.COMMITTED)

    def confirm(self, record: Fields) -> None:  # noqa: ARG002 - as above
        """confirm: it stands beyond its deadline."""
        self._base = replace(self.base, confirmed=True)

    def undo(self, record: Fields) -> None:
        """undo: it is being given back."""
        self._base = replace(self.base, undone_why=_text(record.get("why"), "$.why"))

    def end(self, record: Fields) -> None:  # noqa: ARG002 - as above
        """end: all that was still ours is given back."""
        self._base = replace(self.base, state=State.UNDONE)

    def _require_open(self, kind: str) -> None:
        if self._base is not None and self._base.state is not State.OPEN:
            raise ParseError(f"{kind} in a transaction that is {self._base.state} already")

    def _known(self, record: Fields) -> int:
        index = natural(record.get("index"), "$.index", U32_MAX)
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


def tell(data: bytes, number: int) -> tuple[Telling, ParseError | None]:
    """What a journal's bytes tell, and what is wrong in them (with its line): nothing after that can be trusted."""
    telling = Telling(number)
    if len(data) > MOST_FILE_BYTES:
        return telling, ParseError(f"larger than {MOST_FILE_BYTES} bytes")
    # A byte that is no UTF-8 becomes an escape, which only a value may hold that is written again as it was.
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    for place, text in enumerate(lines[:-1], 1):
        try:
            telling.take(_decoded(text))
        except ParseError as error:
            return telling, ParseError(error.detail, place)
    return telling, None


def _decoded(text: str) -> Any:
    if len(text) > MOST_LINE_BYTES:
        raise ParseError(f"longer than {MOST_LINE_BYTES} characters")
    try:
        value, end = _DECODER.raw_decode(text)
    except RecursionError:
        raise ParseError("nested too deep") from None
    except ValueError as error:
        # Of a long number Python tells only how to raise its own limit.
        said = "a number of thousands of digits" if "set_int_max_str_digits" in str(error) else str(error)
        raise ParseError(f"not JSON: {said}") from None
    if end != len(text):
        raise ParseError("not JSON: something behind its end")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _writer(value: Any) -> Writer:
    record = json_values.record(value, "$.writer")
    return Writer(
        natural(record.get("pid"), "$.writer.pid", U32_MAX),
        json_values.optional_natural(record, "start_ticks", "$.writer"),
        _text(record.get("user"), "$.writer.user"),
    )


def _entry(record: Fields) -> Entry:
    kept = json_values.array(record.get("kept", []), "$.kept", MOST_KEPT)
    effect = record.get("effect")
    return Entry(
        index=natural(record.get("index"), "$.index", U32_MAX),
        policy=_text(record.get("policy"), "$.policy"),
        kind=_choice(_KINDS, record.get("kind"), "$.kind"),
        target=_target(record.get("target"), "$.target"),
        where=_text(record.get("where"), "$.where"),
        old=_exact(record.get("old"), "$.old"),
        new=_exact(record.get("new"), "$.new"),
        why=_text(record.get("why"), "$.why"),
        lasts=_choice(_LASTS, record.get("lasts"), "$.lasts"),
        kept=tuple(_kept(one, f"$.kept[{place}]") for place, one in enumerate(kept)),
        outcome=_choice(_OUTCOMES, record.get("outcome", Outcome.INTENDED), "$.outcome"),
        detail=_further(record, "detail"),
        effect=None if effect is None else _choice(_EFFECTS, effect, "$.effect"),
        effect_detail=_further(record, "effect_detail"),
        previous=_exact(record.get("previous", ""), "$.previous"),
    )


def _kept(value: Any, where: str) -> Kept:
    record = json_values.record(value, where)
    return Kept(
        _choice(_KINDS, record.get("kind"), f"{where}.kind"),
        _target(record.get("target"), f"{where}.target"),
        _text(record.get("where"), f"{where}.where"),
        _exact(record.get("value"), f"{where}.value"),
    )


def _target(value: Any, where: str) -> Target:
    record = json_values.record(value, where)
    checks = ((name, one, _TARGET_CHECKS.get(name)) for name, one in record.items() if one is not None)
    return Target(**{name: check(one, where) for name, one, check in checks if check is not None})


def _choice(choices: dict[str, _Choice], value: Any, where: str) -> _Choice:
    chosen = choices.get(value) if isinstance(value, str) else None
    if chosen is None:
        said = shown(value) if isinstance(value, str) else "what is no string"
        raise ParseError(f"{where}: {said} is not known to this version")
    return chosen


def _further(record: Fields, name: str) -> str:
    return _text(record[name], f"$.{name}") if name in record else ""


def _text(value: Any, where: str) -> str:
    """A printable string of up to MOST_TEXT characters; it may be empty."""
    if type(value) is str and len(value) <= MOST_TEXT and value.isprintable():
        return value
    return json_values.string(value, where)


def _exact(value: Any, where: str) -> str:
    """A string that means bytes: whatever they are, and nothing that means none."""
    if not isinstance(value, str):
        raise ParseError(f"{where}: not a string")
    if not value.isascii():
        try:
            value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise ParseError(f"{where}: half of a surrogate pair") from None
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParseError("$.seconds: not a number")
    if not 0 <= value <= MOST_SECONDS or math.isnan(value):
        raise ParseError(f"$.seconds: not within 0 to {MOST_SECONDS}")
    return float(value)


_TARGET_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("bus_address", "virtio", "mac", "queue_role", "domain_uuid", "alias", "address"), _exact),
    **dict.fromkeys(("thread_role", "parameter", "unit", "interface", "uri"), _exact),
    **dict.fromkeys(("queue", "position", "irq", "tid", "start_ticks"), natural),
    "kernel_thread": json_values.boolean,
}

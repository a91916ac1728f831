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

_TARGET_TEXTS = frozenset(
    {
        "bus_address",
        "virtio",
        "mac",
        "queue_role",
        "domain_uuid",
        "alias",
        "address",
        "thread_role",
        "parameter",
        "unit",
    }
    | {"interface", "uri"}
)
_TARGET_NUMBERS = frozenset({"queue", "position", "irq", "tid", "start_ticks"})
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
        self.entries: dict[int, Entry] = {}
        self._base: Transaction | None = None

    def transaction(self, damage: str = "") -> Transaction | None:
        """The transaction by now; None before it began."""
        if self._base is None:
            return None
        return replace(self._base, entries=tuple(self.entries.values()), damage=damage)

    def take(self, record: Any) -> None:
        """Adds one record."""
        known = json_values.record(record, "$")
        kind = json_values.string(known.get("record"), "$.record")
        taken = _TAKEN.get(kind)
        if taken is None:
            raise ParseError(f"$.record: {shown(kind)} is no record that this version knows")
        if (self._base is None) is not (kind == "begin"):
            raise ParseError("begins a second time" if kind == "begin" else f"{shown(kind)} before the beginning")
        taken(self, known)

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
        if entry.index in self.entries:
            raise ParseError(f"$.index: change {entry.index} is announced a second time")
        if len(self.entries) >= MOST_ENTRIES:
            raise ParseError(f"more than {MOST_ENTRIES} changes")
        self.entries[entry.index] = entry

    def outcome(self, record: Fields) -> None:
        """outcome: what became of a change."""
        self._require_open("outcome")
        self._became(record)

    def given_back(self, record: Fields) -> None:
        """given-back: what the undo made of a change."""
        self._became(record)

    def _became(self, record: Fields) -> None:
        entry = self._announced(record)
        outcome = _choice(Outcome, record.get("outcome"), "$.outcome")
        self.entries[entry.index] = replace(entry, outcome=outcome, detail=_further(record, "detail"))

    def effect(self, record: Fields) -> None:
        """effect: whether it is what happens."""
        entry = self._announced(record)
        effect = _choice(Effect, record.get("effect"), "$.effect")
        self.entries[entry.index] = replace(entry, effect=effect, effect_detail=_further(record, "detail"))

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
        if self.base.state is not State.OPEN:
            raise ParseError(f"{kind} in a transaction that is {self.base.state} already")

    def _announced(self, record: Fields) -> Entry:
        index = natural(record.get("index"), "$.index", U32_MAX)
        entry = self.entries.get(index)
        if entry is None:
            raise ParseError(f"$.index: change {index} was never announced")
        return entry


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
    for place, text in enumerate(data.split(b"\n")[:-1], 1):
        try:
            telling.take(_decoded(text))
        except ParseError as error:
            return telling, ParseError(error.detail, place)
    return telling, None


def _decoded(text: bytes) -> Any:
    if len(text) > MOST_LINE_BYTES:
        raise ParseError(f"longer than {MOST_LINE_BYTES} bytes")
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise ParseError("nested too deep") from None
    except UnicodeDecodeError:
        raise ParseError("not UTF-8") from None
    except ValueError as error:
        # Of a long number Python tells only how to raise its own limit.
        said = "a number of thousands of digits" if "set_int_max_str_digits" in str(error) else str(error)
        raise ParseError(f"not JSON: {said}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


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
        kind=_choice(TunableKind, record.get("kind"), "$.kind"),
        target=_target(record.get("target"), "$.target"),
        where=_text(record.get("where"), "$.where"),
        old=_exact(record.get("old"), "$.old"),
        new=_exact(record.get("new"), "$.new"),
        why=_text(record.get("why"), "$.why"),
        lasts=_choice(Lasts, record.get("lasts"), "$.lasts"),
        kept=tuple(_kept(one, f"$.kept[{place}]") for place, one in enumerate(kept)),
        outcome=_choice(Outcome, record.get("outcome", Outcome.INTENDED), "$.outcome"),
        detail=_further(record, "detail"),
        effect=None if effect is None else _choice(Effect, effect, "$.effect"),
        effect_detail=_further(record, "effect_detail"),
        previous=_exact(record.get("previous", ""), "$.previous"),
    )


def _kept(value: Any, where: str) -> Kept:
    record = json_values.record(value, where)
    return Kept(
        _choice(TunableKind, record.get("kind"), f"{where}.kind"),
        _target(record.get("target"), f"{where}.target"),
        _text(record.get("where"), f"{where}.where"),
        _exact(record.get("value"), f"{where}.value"),
    )


def _target(value: Any, where: str) -> Target:
    record = json_values.record(value, where)
    return Target(**{name: _of_target(name, one, where) for name, one in record.items() if name in _TARGET_FIELDS})


def _of_target(name: str, value: Any, where: str) -> Any:
    if value is None:
        return None
    if name in _TARGET_TEXTS:
        return _exact(value, f"{where}.{name}")
    check = natural if name in _TARGET_NUMBERS else json_values.boolean
    return check(value, f"{where}.{name}")


def _choice(choices: type[_Choice], value: Any, where: str) -> _Choice:
    try:
        return choices(value)
    except ValueError:
        said = shown(value) if isinstance(value, str) else "what is no string"
        raise ParseError(f"{where}: {said} is not known to this version") from None


def _further(record: Fields, name: str) -> str:
    return _text(record[name], f"$.{name}") if name in record else ""


def _text(value: Any, where: str) -> str:
    """A printable string of up to MOST_TEXT characters; it may be empty."""
    return "" if value == "" else json_values.string(value, where)


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

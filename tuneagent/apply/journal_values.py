"""A line of a journal, looked at strictly: a noun of what it says, or a ParseError with the member that is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from tuneagent.apply.journal_records import MOST_TEXT, Fields
from tuneagent.model.errors import ParseError
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import (
    Deadline,
    Effect,
    Entry,
    Keeper,
    Kept,
    Lasts,
    Outcome,
    State,
    Transaction,
    Writer,
)
from tuneagent.parse import json_values
from tuneagent.parse.json_values import natural
from tuneagent.parse.lines import U32_MAX, shown

MOST_LINE_BYTES = 1024 * 1024
MOST_KEPT = 4096
MOST_SECONDS = 10**9
MOST_PID = 1 << 22
"""PID_MAX_LIMIT (include/linux/threads.h)."""

Told = tuple[str, Any]
"""The kind of a record, and what it tells: what the function of this module returns that reads its kind."""
_Choice = TypeVar("_Choice", bound=StrEnum)
_KINDS = {kind.value: kind for kind in TunableKind}
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_EFFECTS = {effect.value: effect for effect in Effect}
_LASTS = {lasts.value: lasts for lasts in Lasts}


def line(text: str) -> Told:
    """The record that a line is."""
    value = _decoded(text)
    if not isinstance(value, dict):
        raise ParseError("$: not an object")
    return told(value)


def told(record: Fields) -> Told:
    """What a record tells, whatever was told before it."""
    kind = record.get("record")
    if not isinstance(kind, str):
        raise ParseError("$.record: not a string")
    read = _TOLD.get(kind)
    if read is None:
        raise ParseError(f"$.record: {shown(kind)} is no record that this version knows")
    return kind, read(record)


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


def begin(record: Fields) -> Transaction:
    """begin: who, when, with which command; its number is that of its file."""
    boot_id = record.get("boot_id")
    return Transaction(
        id=0,
        began_ns=natural(record.get("at_ns"), "$.at_ns"),
        boot_id=None if boot_id is None else _text(boot_id, "$.boot_id"),
        version=_text(record.get("version"), "$.version"),
        writer=_writer(record.get("writer")),
        command=_text(record.get("command"), "$.command"),
        entries=(),
        state=State.OPEN,
        provisional=json_values.boolean(record.get("provisional", False), "$.provisional"),
    )


def deadline(record: Fields) -> Deadline:
    """deadline: undone then, unless somebody confirms it."""
    return Deadline(
        natural(record.get("at_ns"), "$.at_ns"),
        natural(record.get("at_boottime_ns"), "$.at_boottime_ns"),
        _seconds(record.get("seconds")),
        _keeper(record.get("keeper")),
    )


def outcome(record: Fields) -> tuple[int, tuple[Outcome, str]]:
    """outcome, given-back: what became of which change, with its detail."""
    became = _choice(_OUTCOMES, record.get("outcome"), "$.outcome")
    return _index(record), (became, _further(record, "detail"))


def effect(record: Fields) -> tuple[int, tuple[Effect, str]]:
    """effect: whether which change is in effect, with its detail."""
    seen = _choice(_EFFECTS, record.get("effect"), "$.effect")
    return _index(record), (seen, _further(record, "detail"))


def why(record: Fields) -> str:
    """undo: why it is given back."""
    return _text(record.get("why"), "$.why")


def nothing(_: Fields) -> None:
    """commit, confirm, end: the kind says it all."""


def _index(record: Fields) -> int:
    return natural(record.get("index"), "$.index", U32_MAX)


def _writer(value: Any) -> Writer:
    record = json_values.record(value, "$.writer")
    return Writer(
        natural(record.get("pid"), "$.writer.pid", U32_MAX),
        json_values.optional_natural(record, "start_ticks", "$.writer"),
        _text(record.get("user"), "$.writer.user"),
    )


def _keeper(value: Any) -> Keeper | None:
    if value is None:
        return None
    record = json_values.record(value, "$.keeper")
    return Keeper(
        natural(record.get("pid"), "$.keeper.pid", MOST_PID),
        natural(record.get("start_ticks"), "$.keeper.start_ticks"),
    )


def entry(record: Fields) -> Entry:
    """intent: one more change."""
    kept = json_values.array(record.get("kept", []), "$.kept", MOST_KEPT)
    effect = record.get("effect")
    return Entry(
        index=_index(record),
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
        tried=json_values.boolean(record.get("tried", True), "$.tried"),
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
    return Target(**{name: check(one, f"{where}.{name}") for name, one, check in checks if check is not None})


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
    **dict.fromkeys(("queue", "position", "ifindex", "irq", "tid", "start_ticks"), natural),
    "kernel_thread": json_values.boolean,
}
_TOLD: dict[str, Callable[[Fields], Any]] = {
    "begin": begin,
    "deadline": deadline,
    "intent": entry,
    "outcome": outcome,
    "effect": effect,
    "commit": nothing,
    "confirm": nothing,
    "undo": why,
    "given-back": outcome,
    "end": nothing,
}

"""The records of a journal as they are written: one line of JSON each. What they mean is told by journal_telling."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from tuneagent.model.plan import Target
from tuneagent.model.transaction import Deadline, Entry, Kept, Outcome, Writer

MOST_TEXT = 4096
"""Characters of what is for people; values that are written again are bounded by their line alone."""

Fields = dict[str, Any]

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


def begin(
    *,
    now_ns: int,
    boot_id: str | None,
    version: str,
    writer: Writer,
    command: str,
    policies: Iterable[str],
    provisional: bool = False,
) -> Fields:
    """The first record of every journal."""
    record = {
        "record": "begin",
        "at_ns": now_ns,
        "boot_id": boot_id,
        "version": plain(version),
        "writer": {"pid": writer.pid, "start_ticks": writer.start_ticks, "user": plain(writer.user)},
        "command": plain(command),
        "policies": [plain(policy) for policy in policies],
    }
    return record | {"provisional": True} if provisional else record


def deadline(until: Deadline) -> Fields:
    """Until when the transaction must be confirmed."""
    record: Fields = {
        "record": "deadline",
        "at_ns": until.at_ns,
        "at_boottime_ns": until.at_boottime_ns,
        "seconds": until.seconds,
    }
    if until.keeper is None:
        return record
    return record | {"keeper": {"pid": until.keeper.pid, "start_ticks": until.keeper.start_ticks}}


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
    untried: Fields = {} if entry.tried else {"tried": False}
    return record | {key: value for key, value in further.items() if value} | untried


def _target_fields(target: Target) -> Fields:
    named = ((name, getattr(target, name)) for name in _TARGET_FIELDS)
    return {name: value for name, value in named if value is not None}


def _kept_fields(kept: Kept) -> Fields:
    target = _target_fields(kept.target)
    return {"kind": kept.kind, "target": target, "where": plain(kept.where), "value": kept.value}

"""What is known of waiting for locks as JSON values; the keys are those of the nouns."""

from __future__ import annotations

from typing import Any

from tuneagent.model.contention import Contention, LockStat
from tuneagent.report.jsonable import jsonable


def contention_json(contention: Contention | None) -> dict[str, Any] | None:
    """With ``per_sec``, the sum over all CPUs."""
    return None if contention is None else {"per_sec": jsonable(contention.per_sec), **jsonable(contention)}


def lock_stat_json(stat: LockStat | None) -> dict[str, Any] | None:
    """With the places of each class as objects."""
    if stat is None:
        return None
    return {**jsonable(stat), "classes": [_class(jsonable(one)) for one in stat.classes]}


def _class(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "points": _places(fields["points"]), "holders": _places(fields["holders"])}


def _places(pairs: list[list[Any]]) -> list[dict[str, Any]]:
    return [{"place": place, "count": count} for place, count in pairs]

"""``history --json``: one object with a row a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuneagent.model.history import TrialSummary
from tuneagent.report.jsonable import jsonable

SCHEMA = "tuneagent.history/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""


def to_json(rows: Sequence[TrialSummary], total: int, offset: int, path: str, version: str) -> dict[str, Any]:
    """The rows, the newest first, and how many there are in all."""
    return {
        "schema": SCHEMA,
        "version": version,
        "store": path,
        "total": total,
        "offset": offset,
        "trials": jsonable(rows),
    }

"""``tuneagent status --json``: one object with stable keys. ``tuneagent explain json`` documents them."""

from __future__ import annotations

from typing import Any

from tuneagent.model.apply_report import StatusReport
from tuneagent.model.transaction import EntryStatus, TransactionStatus
from tuneagent.report.apply_json import transaction_json
from tuneagent.report.jsonable import jsonable

SCHEMA = "tuneagent.status/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""


def to_json(report: StatusReport) -> dict[str, Any]:
    """The report as JSON values, oldest transaction first."""
    return {
        "schema": SCHEMA,
        "version": report.version,
        "origin": report.origin,
        "directory": report.directory,
        "due": list(report.due),
        "drifted": report.drifted,
        "damaged": report.damaged,
        "transactions": [_transaction(report, one) for one in report.transactions],
        "notes": list(report.notes),
    }


def _transaction(report: StatusReport, status: TransactionStatus) -> dict[str, Any]:
    return {
        **transaction_json(status.transaction),
        "writer_runs": status.writer_runs,
        "interrupted": status.interrupted,
        "overdue": status.transaction.id in report.overdue,
        "drifted": status.drifted,
        "entries": [_entry(one) for one in status.entries],
    }


def _entry(status: EntryStatus) -> dict[str, Any]:
    fields: dict[str, Any] = jsonable(status.entry)
    return {
        **fields,
        "standing": status.standing.value,
        "now": status.now,
        "where_now": status.where,
        "standing_detail": status.detail,
    }

"""``apply --json``, ``confirm --json`` and ``rollback --json``: one object. ``tuneagent explain json`` documents it."""

from __future__ import annotations

from typing import Any

from tuneagent.model.apply_report import ApplyReport, PlannedChange
from tuneagent.model.transaction import Transaction
from tuneagent.report.jsonable import jsonable

SCHEMA = "tuneagent.apply/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""


def to_json(report: ApplyReport) -> dict[str, Any]:
    """The report as JSON values. ``changes`` of a check is what ``apply --plan`` reads back."""
    return {
        "schema": SCHEMA,
        "version": report.version,
        "origin": report.origin,
        "command": report.command.value,
        "result": report.result.value,
        "changed": report.changed,
        "reason": report.reason or None,
        "changes": [_planned(one) for one in report.planned],
        "transactions": [transaction_json(one) for one in report.transactions],
        "recovered": [transaction_json(one) for one in report.recovered],
        "declined": jsonable(report.declined),
        "notes": list(report.notes),
    }


def transaction_json(transaction: Transaction) -> dict[str, Any]:
    """A transaction with its changes; empty texts that say "none" are null."""
    fields: dict[str, Any] = jsonable(transaction)
    return {
        **fields,
        "undone_why": transaction.undone_why or None,
        "damage": transaction.damage or None,
        "on_trial": transaction.on_trial,
        "awaits_confirmation": transaction.awaits_confirmation,
        "stands": transaction.stands,
    }


def _planned(planned: PlannedChange) -> dict[str, Any]:
    change: dict[str, Any] = jsonable(planned.change)
    return {"policy": planned.policy, "subject": planned.subject, **change}

"""``report --json``: the trial as it is stored, and what a report works out of it."""

from __future__ import annotations

from typing import Any

from tuneagent.model.trial import Arm, Trial
from tuneagent.report import trial_words as words
from tuneagent.report.jsonable import jsonable
from tuneagent.report.trial_figures import Both, Figures, figures

SCHEMA = "tuneagent.trial-report/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""


def to_json(trial: Trial, version: str) -> dict[str, Any]:
    """One object. ``trial`` is as in ``tuneagent.trial/1``, with numbers rounded."""
    told = figures(trial)
    return {
        "schema": SCHEMA,
        "version": version,
        "headline": words.headline(trial),
        "not_seen": words.not_seen(trial) or None,
        "interrupts_per_sec": [_interrupts(told, queue, cpu) for queue, cpu in told.interrupts],
        "exits_per_sec": [{"kind": kind, **_both(both)} for kind, both in told.exits.items()],
        "latency_ns": [{"percent": percent, **_both(both)} for percent, both in told.latency.items()],
        "latencies": {arm.value: told.counted[arm] for arm in Arm},
        "rounds_used": len(told.used),
        "rounds_unused": [{"number": one.number, "why": one.unused} for one in told.unused],
        "trial": jsonable(trial),
    }


def _interrupts(told: Figures, queue: str, cpu: str) -> dict[str, Any]:
    return {"queue": queue, "cpu": cpu, **_both(told.interrupts[queue, cpu])}


def _both(both: Both) -> dict[str, Any]:
    return {"a": jsonable(both.a), "b": jsonable(both.b)}

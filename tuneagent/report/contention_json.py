"""``tuneagent contention`` for programs: the keys are those of json.md."""

from __future__ import annotations

from typing import Any

from tuneagent.model.contention import Contention
from tuneagent.model.contention_report import ContentionReport
from tuneagent.model.cost import AgentCost
from tuneagent.report.jsonable import jsonable

SCHEMA = "tuneagent.contention/1"


def to_json(report: ContentionReport) -> dict[str, Any]:
    """The object of ``contention --json``."""
    return {
        "schema": SCHEMA,
        "version": report.version,
        "origin": report.origin,
        "contention": contention_json(report.contention),
        "lock_stat": jsonable(report.lock_stat),
        "imported": jsonable(report.imported),
        "missing": jsonable(report.missing),
        "cost": None if report.cost is None else _cost(report.cost),
    }


def contention_json(contention: Contention | None) -> dict[str, Any] | None:
    """What is known of waiting, with ``per_sec``, the sum over all CPUs."""
    return None if contention is None else {"per_sec": jsonable(contention.per_sec), **jsonable(contention)}


def _cost(cost: AgentCost) -> dict[str, Any]:
    return {
        "cpu_s": jsonable(cost.cpu_s),
        "wall_beyond_interval_s": jsonable(cost.wall_beyond_interval_s),
        "peak_rss_bytes": cost.peak_rss_bytes,
    }

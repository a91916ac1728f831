"""``tuneagent load run --json``: what was sent, and what it measured. ``tuneagent explain json`` documents the keys."""

from __future__ import annotations

from typing import Any

from tuneagent.model.histogram import PERCENTILES, bounds_ns, mean_ns, percentile_ns
from tuneagent.model.load import Histogram, LoadResult, LoadSpec
from tuneagent.report.jsonable import jsonable

SCHEMA = "tuneagent.load/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""


def to_json(spec: LoadSpec, result: LoadResult, version: str) -> dict[str, Any]:
    """One object."""
    told = jsonable(result)
    return {
        "schema": SCHEMA,
        "version": version,
        "load": jsonable(spec),
        **{key: value for key, value in told.items() if key != "latency"},
        "per_sec": jsonable(result.per_sec),
        "latency": None if result.latency is None or not result.latency.total else _latency(result.latency),
    }


def _latency(latency: Histogram) -> dict[str, Any]:
    return {
        "count": latency.total,
        "min_ns": latency.min_ns,
        "mean_ns": jsonable(mean_ns(latency)),
        "max_ns": latency.max_ns,
        "percentiles": [
            {"percent": percent, "ns": jsonable(percentile_ns(latency, percent))} for percent in PERCENTILES
        ],
        "buckets": [[*bounds_ns(index), latency.counts[index]] for index in sorted(latency.counts)],
    }

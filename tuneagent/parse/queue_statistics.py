"""The captured source ``queue-statistics``: netdev's qstats-get by queue (Documentation/netlink/specs/netdev.yaml).

``{"eth0": [{"type": "rx", "index": 0, "packets": 7, "bytes": 900, "drops": 1}]}``
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any

from tuneagent.model.errors import ParseError
from tuneagent.model.nic import QueueStatistics
from tuneagent.parse.json_values import array, mapping, member, natural, optional_natural

MAX_QUEUES = 1 << 16
_COUNTERS = ("packets", "bytes", "drops")


def parse(value: Any) -> dict[str, tuple[QueueStatistics, ...]]:
    """Queue pairs by interface name, in the order of their index.

    ParseError with the JSON path of the first value that is not as described.
    """
    return {name: _queues(queues, member("$", name)) for name, queues in mapping(value, "$").items()}


def merge(queues: Iterable[QueueStatistics], others: Iterable[QueueStatistics]) -> tuple[QueueStatistics, ...]:
    """Both sources by queue index: ``queues`` (qstats), and ``others`` (ethtool) where that has no value."""
    merged = {other.index: other for other in others}
    for queue in queues:
        merged[queue.index] = _filled(queue, merged.get(queue.index, queue))
    return tuple(merged[index] for index in sorted(merged))


def _filled(queue: QueueStatistics, other: QueueStatistics) -> QueueStatistics:
    names = [field.name for field in fields_of(QueueStatistics) if getattr(queue, field.name) is None]
    values: dict[str, Any] = {name: getattr(other, name) for name in names}
    return replace(queue, **values)


def _queues(value: Any, where: str) -> tuple[QueueStatistics, ...]:
    queues: dict[int, dict[str, int | None]] = {}
    for index, element in enumerate(array(value, where)):
        _add(queues, mapping(element, f"{where}[{index}]"), f"{where}[{index}]")
    return tuple(QueueStatistics(queue, **queues[queue]) for queue in sorted(queues))


def _add(queues: dict[int, dict[str, int | None]], element: dict[str, Any], where: str) -> None:
    side = element.get("type")
    if side not in ("rx", "tx"):
        raise ParseError(f"{where}.type: neither rx nor tx")
    counts = queues.setdefault(natural(element.get("index"), f"{where}.index", MAX_QUEUES - 1), {})
    if f"{side}_packets" in counts:
        raise ParseError(f"{where}.index: this {side} queue occurs twice")
    for name in _COUNTERS:
        counts[f"{side}_{name}"] = optional_natural(element, name, where)

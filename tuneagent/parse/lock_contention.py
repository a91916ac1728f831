"""The captured source ``lock-contention``: lock:contention_begin as counted by perf_event_open(2) on each CPU.

``{"opened_at_ns": 500000000, "per_cpu": {"0": 1100, "1": 2300}, "spin": "every"}``
"""

from __future__ import annotations

from typing import Any

from tuneagent.model.contention import ContentionCounts, SpinVisibility
from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.model.errors import ParseError
from tuneagent.parse import lines
from tuneagent.parse.json_values import mapping, member, natural, record, string
from tuneagent.parse.lines import shown

_SPIN = {one.value: one for one in SpinVisibility}


def parse(value: Any) -> ContentionCounts:
    """The counts by CPU, without the time of their read. ParseError with the path of the first wrong value."""
    fields = record(value, "$")
    counts = mapping(fields.get("per_cpu"), "$.per_cpu", MAX_CPUS)
    if not counts:
        raise ParseError("$.per_cpu: no CPU in it")
    per_cpu: dict[int, int] = {}
    for key, count in counts.items():
        where = member("$.per_cpu", key)
        cpu = _cpu(key, where)
        if cpu in per_cpu:
            raise ParseError(f"{where}: CPU {cpu} occurs twice")
        per_cpu[cpu] = natural(count, where)
    return ContentionCounts(
        per_cpu=dict(sorted(per_cpu.items())),
        opened_at_ns=natural(fields.get("opened_at_ns"), "$.opened_at_ns"),
        read_at_ns=None,
        spin=_spin(string(fields.get("spin"), "$.spin")),
    )


def _cpu(key: str, where: str) -> int:
    try:
        return lines.natural(key, None, MAX_CPUS - 1)
    except ParseError as error:
        raise ParseError(f"{where}: {error.detail}") from None


def _spin(word: str) -> SpinVisibility:
    if word not in _SPIN:
        raise ParseError(f"$.spin: {shown(word)} is none of {', '.join(_SPIN)}")
    return _SPIN[word]

"""The captured source ``domain-statistics``: virConnectGetAllDomainStats with VIR_DOMAIN_STATS_VCPU, by domain UUID.

``{"4dea22b3-1d52-d8f3-2516-782e98ab3fa0": {"vcpu.0.exits.sum": 123}}`` (virsh(1), domstats). Numbers of vCPUs have
holes after one was unplugged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tuneagent.model.hypervisor import KvmCounters
from tuneagent.parse.json_values import mapping, member, record
from tuneagent.parse.kvm_counters import MAX_VCPU, checked, gathered, wanted_of

_MAX_FIELDS = 1 << 19
_VCPU, _PARTS = "vcpu", 4
_NUMBER = re.compile(r"0|[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where the wanted counters of a domain stand, good for all domains with the same fields."""

    fields: dict[str, Any]
    places: dict[int, list[tuple[str, str]]]
    """(counter, field) by vCPU."""


def parse(value: Any) -> tuple[KvmCounters, ...]:
    """Counters by UUID, without the time of their read. ParseError with the path of the first wrong value.

    Fields that are no counter of ours are passed over.
    """
    found: list[KvmCounters] = []
    plan = _Plan({}, {})
    for uuid, told in sorted(mapping(value, "$").items()):
        where = member("$", uuid)
        fields = record(told, where, _MAX_FIELDS)
        if fields.keys() != plan.fields.keys():
            plan = _plan(fields)
        found.append(_domain(uuid.lower(), fields, plan, where))
    return tuple(found)


def _plan(fields: dict[str, Any]) -> _Plan:
    parts = [parts for field in fields if len(parts := field.split(".")) == _PARTS and parts[0] == _VCPU]
    numbers = {int(number) for _, number, _, _ in parts if _NUMBER.fullmatch(number)}
    names = wanted_of(name for _, _, name, _ in parts)
    places = {vcpu: [(name, f"{_VCPU}.{vcpu}.{name}.sum") for name in names] for vcpu in numbers if vcpu <= MAX_VCPU}
    there = {vcpu: [place for place in found if place[1] in fields] for vcpu, found in places.items()}
    return _Plan(fields, {vcpu: found for vcpu, found in there.items() if found})


def _domain(uuid: str, fields: dict[str, Any], plan: _Plan, where: str) -> KvmCounters:
    vcpus: dict[int, dict[str, int]] = {}
    for vcpu, places in plan.places.items():
        vcpus[vcpu] = checked({name: fields[field] for name, field in places}, f"{where}: vCPU {vcpu}")
    return gathered(None, uuid, vcpus)

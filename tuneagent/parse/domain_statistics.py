"""The captured source ``domain-statistics``: virConnectGetAllDomainStats with VIR_DOMAIN_STATS_VCPU, by domain UUID.

``{"4dea22b3-1d52-d8f3-2516-782e98ab3fa0": {"vcpu.0.exits.sum": 123}}`` (virsh(1), domstats). Numbers of vCPUs have
holes after one was unplugged.
"""

from __future__ import annotations

import re
from typing import Any

from tuneagent.model.hypervisor import KvmCounters
from tuneagent.parse.json_values import mapping, member
from tuneagent.parse.kvm_counters import MAX_VCPU, counter, gathered, is_wanted

_MAX_FIELDS = 1 << 19
_FIELD = re.compile(r"vcpu\.(?P<vcpu>[0-9]{1,5})\.(?P<name>\w+)\.sum", re.ASCII)


def parse(value: Any) -> tuple[KvmCounters, ...]:
    """Counters by UUID, without the time of their read. ParseError with the path of the first wrong value.

    Fields that are no counter of ours are passed over.
    """
    domains = sorted(mapping(value, "$").items())
    return tuple(_domain(uuid.lower(), mapping(fields, member("$", uuid), _MAX_FIELDS)) for uuid, fields in domains)


def _domain(uuid: str, fields: dict[str, Any]) -> KvmCounters:
    vcpus: dict[int, dict[str, int]] = {}
    for field, count in fields.items():
        match = _FIELD.fullmatch(field)
        if match is None or not is_wanted(match["name"]) or int(match["vcpu"]) > MAX_VCPU:
            continue
        vcpus.setdefault(int(match["vcpu"]), {})[match["name"]] = counter(field, count, member("$", uuid))
    return gathered(None, uuid, vcpus)

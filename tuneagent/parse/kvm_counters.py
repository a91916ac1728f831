"""KVM's counters of one virtual machine, put together from those of its vCPUs."""

from __future__ import annotations

from typing import Any

from tuneagent.model.hypervisor import EXIT_FAMILY, KVM_COUNTERS, KvmCounters
from tuneagent.parse.json_values import natural

MAX_VCPU = 8191
"""The highest vCPU number: twice what any architecture's KVM_MAX_VCPUS allows."""

_WANTED = frozenset(KVM_COUNTERS)


def is_wanted(name: str) -> bool:
    """Whether a counter of this name is one of those that are read."""
    return name in _WANTED or name.startswith(EXIT_FAMILY)


def counter(name: str, value: Any, where: str) -> int:
    """A counter's value; ParseError with ``where`` for what is no whole number of 64 bits."""
    return natural(value, f"{where}: {name}" if name.isprintable() else where)


def gathered(pid: int | None, uuid: str | None, vcpus: dict[int, dict[str, int]]) -> KvmCounters:
    """The counters of a virtual machine, by vCPU and over all of them.

    The total of a name is there only where every vCPU tells it: a sum that lacks a part would be a wrong number. On a
    kernel without ``exits`` (s390x) the sum of the ``exit_*`` family takes its place.
    """
    are_a_sum = bool(vcpus) and all(_has_family_only(counters) for counters in vcpus.values())
    if are_a_sum:
        vcpus = {vcpu: with_exits(counters) for vcpu, counters in vcpus.items()}
    return KvmCounters(pid, uuid, _totals(vcpus), dict(sorted(vcpus.items())), None, are_a_sum)


def with_exits(counters: dict[str, int]) -> dict[str, int]:
    """The same with ``exits`` as the sum of the ``exit_*`` family, where it is not there and the family is."""
    if not _has_family_only(counters):
        return counters
    return {"exits": sum(count for name, count in counters.items() if name.startswith(EXIT_FAMILY)), **counters}


def _has_family_only(counters: dict[str, int]) -> bool:
    return "exits" not in counters and any(name.startswith(EXIT_FAMILY) for name in counters)


def _totals(vcpus: dict[int, dict[str, int]]) -> dict[str, int]:
    each = list(vcpus.values())
    names = each[0] if each else {}
    return {name: sum(counters[name] for counters in each) for name in names if all(name in one for one in each)}

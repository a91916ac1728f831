"""KVM's counters of one virtual machine, put together from those of its vCPUs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tuneagent.model.hypervisor import EXIT_FAMILY, KVM_COUNTERS, SUM_EXITS, KvmCounters
from tuneagent.parse.json_values import natural
from tuneagent.parse.lines import U64_MAX

MAX_VCPU = 8191
"""The highest vCPU number: twice what any architecture's KVM_MAX_VCPUS allows."""

_WANTED = frozenset(KVM_COUNTERS)


def is_wanted(name: str) -> bool:
    """Whether a counter of this name is one of those that are read."""
    return name in _WANTED or name.startswith(EXIT_FAMILY)


def counter(name: str, value: Any, where: str) -> int:
    """A counter's value; ParseError with ``where`` for what is no whole number of 64 bits."""
    return natural(value, f"{where}: {name}" if name.isprintable() else where)


def checked(counters: dict[str, Any], where: str) -> dict[str, int]:
    """The same counters, all of them whole numbers of 64 bits; ParseError with ``where`` for the first that is none."""
    values = counters.values()
    if not (set(map(type, values)) <= {int} and min(values, default=0) >= 0 and max(values, default=0) <= U64_MAX):
        for name, value in counters.items():
            counter(name, value, where)
    return counters


def wanted_of(names: Iterable[Any]) -> list[str]:
    """Of the names of a record, those that are wanted, in the order of KVM_COUNTERS and the family behind.

    A host has thousands of records of fifty names, and all vCPUs of a machine have the same.
    """
    there = {name for name in names if isinstance(name, str) and is_wanted(name)}
    return [name for name in KVM_COUNTERS if name in there] + sorted(there - _WANTED)


def gathered(pid: int | None, uuid: str | None, vcpus: dict[int, dict[str, int]]) -> KvmCounters:
    """The counters of a virtual machine, by vCPU and over all of them.

    The total of a name is there only where every vCPU tells it: a sum that lacks a part would be a wrong number. On a
    kernel without ``exits`` (s390x) the sum of the ``exit_*`` family takes its place.
    """
    are_a_sum = bool(vcpus) and all(has_family_only(counters) for counters in vcpus.values())
    if are_a_sum or any(SUM_EXITS in counters for counters in vcpus.values()):
        vcpus = {vcpu: with_exits(counters) for vcpu, counters in vcpus.items()}
    return KvmCounters(pid, uuid, _totals(vcpus), dict(sorted(vcpus.items())), None, are_a_sum)


def with_exits(counters: dict[str, int]) -> dict[str, int]:
    """The same with ``exits``, where that has another name or is the sum of the ``exit_*`` family."""
    if "exits" not in counters and SUM_EXITS in counters:
        return {"exits": counters[SUM_EXITS]} | {name: told for name, told in counters.items() if name != SUM_EXITS}
    if not has_family_only(counters):
        return counters
    return {"exits": sum(count for name, count in counters.items() if name.startswith(EXIT_FAMILY)), **counters}


def has_family_only(counters: dict[str, int]) -> bool:
    """Whether exits are counted by the names of the ``exit_*`` family only."""
    return not counters.keys() & {"exits", SUM_EXITS} and any(name.startswith(EXIT_FAMILY) for name in counters)


def _totals(vcpus: dict[int, dict[str, int]]) -> dict[str, int]:
    each = list(vcpus.values())
    names = list(each[0]) if each else []
    if all(list(one) == names for one in each):
        return dict(zip(names, map(sum, zip(*(one.values() for one in each), strict=True)), strict=True))
    return {name: sum(counters[name] for counters in each) for name in names if all(name in one for one in each)}

"""The captured source ``kvm-statistics``: what QEMU's own descriptors of KVM_GET_STATS_FD say, by QEMU's pid.

``{"4242": {"vcpus": {"0": {"exits": 123, "io_exits": 4}}}}`` (Documentation/virt/kvm/api.rst, 4.133)
"""

from __future__ import annotations

from typing import Any

from tuneagent.model.errors import ParseError
from tuneagent.model.hypervisor import KvmCounters
from tuneagent.parse.json_values import mapping, member
from tuneagent.parse.kvm_counters import MAX_VCPU, checked, gathered, wanted_of
from tuneagent.parse.lines import natural

MAX_PID = 1 << 22
"""PID_MAX_LIMIT of 64-bit kernels."""
_MAX_NAMES = 1024


def parse(value: Any) -> tuple[KvmCounters, ...]:
    """Counters by pid, without the time of their read. ParseError with the path of the first wrong value."""
    return tuple(sorted((_machine(key, told) for key, told in mapping(value, "$").items()), key=_pid))


def _pid(counters: KvmCounters) -> int:
    return counters.pid or 0


def _machine(key: str, value: Any) -> KvmCounters:
    where = member("$", key)
    pid = _number(key, where, MAX_PID)
    vcpus: dict[int, dict[str, int]] = {}
    told: tuple[dict[str, Any], list[str]] = ({}, [])
    for name, record in mapping(mapping(value, where).get("vcpus"), f"{where}.vcpus", MAX_VCPU + 1).items():
        inside = member(f"{where}.vcpus", name)
        told = _names(record, inside, told)
        vcpus[_number(name, inside, MAX_VCPU)] = checked({name: record[name] for name in told[1]}, inside)
    return gathered(pid, None, vcpus)


def _names(record: Any, where: str, last: tuple[dict[str, Any], list[str]]) -> tuple[dict[str, Any], list[str]]:
    """(record, its wanted names); those of the last record where the names are the same."""
    if isinstance(record, dict) and record.keys() == last[0].keys():
        return record, last[1]
    return record, wanted_of(mapping(record, where, _MAX_NAMES))


def _number(word: str, where: str, highest: int) -> int:
    try:
        return natural(word, None, highest)
    except ParseError as error:
        raise ParseError(f"{where}: {error.detail}") from None

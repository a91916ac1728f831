"""The captured source ``kvm-statistics``: what QEMU's own descriptors of KVM_GET_STATS_FD say, by QEMU's pid.

``{"4242": {"vcpus": {"0": {"exits": 123, "io_exits": 4}}}}`` (Documentation/virt/kvm/api.rst, 4.133)
"""

from __future__ import annotations

from typing import Any

from tuneagent.model.errors import ParseError
from tuneagent.model.hypervisor import KvmCounters
from tuneagent.parse.json_values import mapping, member
from tuneagent.parse.kvm_counters import MAX_VCPU, counter, gathered, is_wanted
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
    for name, told in mapping(mapping(value, where).get("vcpus"), f"{where}.vcpus", MAX_VCPU + 1).items():
        inside = member(f"{where}.vcpus", name)
        counters = mapping(told, inside, _MAX_NAMES)
        vcpus[_number(name, inside, MAX_VCPU)] = {
            name: counter(name, count, inside) for name, count in counters.items() if is_wanted(name)
        }
    return gathered(pid, None, vcpus)


def _number(word: str, where: str, highest: int) -> int:
    try:
        return natural(word, None, highest)
    except ParseError as error:
        raise ParseError(f"{where}: {error.detail}") from None

"""What a change must say to be one: which thing is meant, and a value that such a thing can have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tuneagent.model.errors import ParseError
from tuneagent.model.plan import Target, TunableKind
from tuneagent.parse import cpulist, cpumask
from tuneagent.parse.lines import U32_MAX, shown

_NUMBER = re.compile(r"[0-9]{1,10}")
_Needs = tuple[str, ...]
_NIC: _Needs = ("mac",)
_QUEUE: _Needs = ("mac", "queue")
_NEEDS: Mapping[TunableKind, _Needs] = {
    TunableKind.IRQBALANCE_UNIT: ("unit",),
    TunableKind.IRQBALANCE_BAN: _NIC,
    TunableKind.CHANNELS: _NIC,
    TunableKind.RINGS: _NIC,
    TunableKind.COALESCING: _NIC,
    TunableKind.IRQBALANCE_RUNTIME_BAN: _NIC,
    TunableKind.IRQ_AFFINITY: ("mac", "queue_role"),
    TunableKind.XPS_CPUS: _QUEUE,
    TunableKind.RPS_CPUS: _QUEUE,
    TunableKind.RPS_SOCK_FLOW_ENTRIES: (),
    TunableKind.RPS_FLOW_COUNT: _QUEUE,
    TunableKind.NAPI_DEFER_HARD_IRQS: _NIC,
    TunableKind.GRO_FLUSH_TIMEOUT: _NIC,
    TunableKind.KVM_PARAMETER: ("parameter",),
    TunableKind.EMULATOR_PIN: ("domain_uuid",),
    TunableKind.VHOST_AFFINITY: ("thread_role",),
    TunableKind.DOMAIN_INTERFACE_DRIVER: ("domain_uuid", "parameter"),
    TunableKind.DOMAIN_INTERFACE_LIVE: ("domain_uuid", "parameter"),
}
"""Members of the target without which nobody knows what is meant."""


def require_complete(kind: TunableKind, target: Target, where: str) -> None:
    """ParseError where the target does not say what is to be changed, or says it of two things."""
    needs = _NEEDS[kind]
    for key in needs:
        if getattr(target, key) is None:
            raise ParseError(f"{where}: has no {key}, which {kind} needs")
    if "mac" in needs and target.bus_address is None and target.interface is None:
        raise ParseError(f"{where}: has neither bus_address nor interface: a MAC alone may be that of several")
    if kind is TunableKind.VHOST_AFFINITY and target.domain_uuid is None and target.tid is None:
        raise ParseError(f"{where}: has neither domain_uuid nor tid")
    if kind in _OF_AN_INTERFACE:
        _one_of(target.parameter or "", frozenset(_ATTRIBUTE_VALUES), f"{where}.parameter")
        if target.mac is None and target.alias is None and target.position is None:
            raise ParseError(f"{where}: has neither mac nor alias nor position: which interface is meant?")


def _one_of(word: str, known: frozenset[str], where: str) -> None:
    if word not in known:
        raise ParseError(f"{where}: {shown(word)} is none of {', '.join(sorted(known))}")


def _cpu_list(value: str, where: str) -> None:
    if not _placed(cpulist.parse, value, where):
        raise ParseError(f"{where}: an empty CPU list: something must be left to run on")


def _cpu_mask(value: str, where: str) -> None:
    _placed(cpumask.parse, value, where)


def _count(value: str, where: str) -> None:
    if not _NUMBER.fullmatch(value) or int(value) > U32_MAX:
        raise ParseError(f"{where}: {shown(value)} is not a number of 0 to {U32_MAX}")


def _some(value: str, where: str) -> None:
    _count(value, where)
    if int(value) == 0:
        raise ParseError(f"{where}: 0, and at least 1 is needed")


def _unit_state(value: str, where: str) -> None:
    _one_of(value, frozenset({"active", "inactive"}), where)


def _switch(value: str, where: str) -> None:
    _one_of(value, frozenset({"on", "off"}), where)


def _backend(value: str, where: str) -> None:
    _one_of(value, frozenset({"qemu", "vhost"}), where)


def _anything(value: str, where: str) -> None:
    """What only the actuator can judge, and does before anything is written."""


def _placed(read: Callable[[str], Any], value: str, where: str) -> Any:
    try:
        return read(value)
    except ParseError as error:
        raise ParseError(f"{where}: {error.detail}") from error


_OF_AN_INTERFACE = frozenset({TunableKind.DOMAIN_INTERFACE_DRIVER, TunableKind.DOMAIN_INTERFACE_LIVE})
_VALUES: Mapping[TunableKind, Callable[[str, str], None]] = {
    TunableKind.IRQBALANCE_UNIT: _unit_state,
    TunableKind.CHANNELS: _some,
    TunableKind.IRQ_AFFINITY: _cpu_list,
    TunableKind.XPS_CPUS: _cpu_mask,
    TunableKind.RPS_CPUS: _cpu_mask,
    TunableKind.RPS_SOCK_FLOW_ENTRIES: _count,
    TunableKind.RPS_FLOW_COUNT: _count,
    TunableKind.NAPI_DEFER_HARD_IRQS: _count,
    TunableKind.GRO_FLUSH_TIMEOUT: _count,
    TunableKind.KVM_PARAMETER: _count,
    TunableKind.EMULATOR_PIN: _cpu_list,
    TunableKind.VHOST_AFFINITY: _cpu_list,
}
_ATTRIBUTE_VALUES: Mapping[str, Callable[[str, str], None]] = {
    "event_idx": _switch,
    "name": _backend,
    "queues": _some,
    "rx_queue_size": _some,
    "tx_queue_size": _some,
}
"""Of ``<driver>`` (https://libvirt.org/formatdomain.html#setting-nic-driver-specific-options)."""


def require_fit(kind: TunableKind, target: Target, value: str, where: str) -> None:
    """ParseError where such a thing can never have this value. The machine may refuse others."""
    look = _VALUES.get(kind, _anything)
    if kind in _OF_AN_INTERFACE:
        look = _ATTRIBUTE_VALUES[target.parameter or ""]
    look(value, where)

"""Tunables whose values can be swept, and the change that a value is."""

from __future__ import annotations

import re

from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.plan.kvm_parameter import HALT_POLL_NS
from tuneagent.plan.situation import nic_target

MOST_VALUES = 12
_VALUE = re.compile(r"[0-9]{1,10}")
_KEYS = {"rx-usecs": "rx-usecs={0}", "tx-usecs": "tx-usecs={0}", "rx-frames": "rx-frames={0}"}
_OF_A_NIC = {
    "channels": (TunableKind.CHANNELS, "{0}", None),
    "rings": (TunableKind.RINGS, "rx={0} tx={0}", "rx tx"),
    **{name: (TunableKind.COALESCING, value, name) for name, value in _KEYS.items()},
    "napi_defer_hard_irqs": (TunableKind.NAPI_DEFER_HARD_IRQS, "{0}", None),
    "gro_flush_timeout": (TunableKind.GRO_FLUSH_TIMEOUT, "{0}", None),
}
_OF_THE_MACHINE = {"halt_poll_ns": HALT_POLL_NS}
NAMES = (*_OF_A_NIC, *_OF_THE_MACHINE)


class SweepError(Exception):
    """What was asked for cannot be swept; one line."""


def values(text: str) -> tuple[str, tuple[str, ...]]:
    """``channels=1,2,4`` as its name and values, in their order. SweepError for anything else."""
    name, sign, listed = text.partition("=")
    found = tuple(dict.fromkeys(listed.split(",")))
    if name not in NAMES or not sign:
        raise SweepError(f"{text!r} is no TUNABLE=VALUE,VALUE…; tunables are {', '.join(NAMES)}")
    wrong = next((one for one in found if _VALUE.fullmatch(one) is None), None)
    if wrong is not None:
        raise SweepError(f"{name}: {wrong!r} is no number of up to ten digits")
    if not 2 <= len(found) <= MOST_VALUES:  # noqa: PLR2004 - one value is no sweep
        raise SweepError(f"{name}: give two to {MOST_VALUES} different values")
    return name, tuple(str(int(one)) for one in found)


def is_of_a_nic(name: str) -> bool:
    """Whether it is a setting of an interface, and not of the machine."""
    return name in _OF_A_NIC


def change(name: str, value: str, nic: Nic | None) -> Change:
    """The change that sets it; what stands there before is read when it is made."""
    if nic is None or not is_of_a_nic(name):
        where = f"/sys/module/kvm/parameters/{name}"
        return _change(TunableKind.KVM_PARAMETER, Target(parameter=_OF_THE_MACHINE[name]), where, value)
    kind, spelt, parameter = _OF_A_NIC[name]
    target = nic_target(nic)
    if parameter is not None:
        target = Target(
            bus_address=nic.bus_address, virtio=nic.virtio, mac=nic.mac, interface=nic.name, parameter=parameter
        )
    return _change(kind, target, f"{name} of {nic.name}", spelt.format(value))


def _change(kind: TunableKind, target: Target, where: str, new: str) -> Change:
    return Change(kind=kind, target=target, where=where, old=None, new=new, why="swept", do="", undo=None)

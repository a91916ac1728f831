"""Which interface of a definition a target means, and what its ``<driver>`` may be given."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.domains import At
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.plan import Target
from tuneagent.parse.interface_xml import Edit, driver_attribute, edit

_SIZE = re.compile(r"[1-9][0-9]{0,4}")
_VALUES = {
    "event_idx": re.compile(r"on|off"),
    "name": re.compile(r"vhost|qemu"),
    "queues": _SIZE,
    "rx_queue_size": _SIZE,
    "tx_queue_size": _SIZE,
}
"""The attributes of ``<driver>`` that are changed, and what may be written there besides nothing."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of one interface, wherever that stands in a definition now."""

    at: At
    name: str
    target: Target
    interface: DomainInterface
    """As it was when it was located."""

    def __str__(self) -> str:
        """For people."""
        mac = self.interface.mac
        which = f"with <mac address='{mac}'/>" if mac else f"at place {self.interface.position}, counted from 0"
        return f"{self.at}: {self.name} of <driver> in the <interface> {which}"

    def edited(self, interface: DomainInterface, value: str) -> Edit:
        """The interface's element with this value; without the attribute for an empty one."""
        made = edit(interface.xml, {self.name: value or None})
        if made is None:
            raise Refusal(Why.FACT, f"{self}: the element is too long or too strange to be edited", "use virsh edit")
        return made

    def value(self, interface: DomainInterface) -> str:
        """The attribute as it is written; empty where it is not."""
        value = driver_attribute(interface.xml, self.name)
        if value is None:
            raise Refusal(Why.FACT, f"{self}: the element is too long or too strange to be read")
        return value


def name_of(target: Target) -> str:
    """The attribute that is meant. Refusal for any that is not changed."""
    if target.parameter not in _VALUES:
        raise Refusal(Why.FACT, "which attribute of <driver> is meant is not told: run it on the hypervisor")
    return target.parameter


def fault(name: str, value: str) -> str | None:
    """Why a value must not be written into the attribute; an empty one takes the attribute away."""
    if not value or _VALUES[name].fullmatch(value):
        return None
    return f"{name} of <driver> is one of: {_VALUES[name].pattern}"


def find(domain: Domain, target: Target) -> DomainInterface | None:
    """The interface that a target means; None where it is not there.

    By its MAC; where several have that, by place on the bus, alias and place among the interfaces. Without a MAC by the
    first of these that the target has. Refusal where several are left, or for what is no virtio-net.
    """
    found, told = list(domain.interfaces), False
    for name in ("mac", "address", "alias", "position"):
        wanted = getattr(target, name)
        is_known = any(getattr(one, name) is not None for one in found)  # what is stored has no aliases
        if wanted is not None and is_known and (len(found) != 1 or not told):
            found, told = [one for one in found if _same(getattr(one, name), wanted)], True
    if len(found) > 1 or not told:
        raise Refusal(Why.FACT, f"which interface of {domain.uuid} is meant is not told: {len(found)} may be")
    if found and not found[0].is_virtio:
        raise Refusal(Why.FACT, "it is no virtio-net device that the definition describes")
    return found[0] if found else None


def _same(one: object, other: object) -> bool:
    return one.lower() == other.lower() if isinstance(one, str) and isinstance(other, str) else one == other


def piped(element: str, line: str) -> str:
    """A line that gives the element to a command of virsh."""
    return f"printf %s {shlex.quote(element)} | {line}"

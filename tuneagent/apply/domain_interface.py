"""DOMAIN_INTERFACE_DRIVER: an attribute of an interface's ``<driver>`` in the stored definition."""

from __future__ import annotations

from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.domains import Domains, asked, kept, parsed
from tuneagent.apply.interfaces import Attribute, fault, find, name_of, piped
from tuneagent.apply.machine import Machine
from tuneagent.model.domain import DomainInterface
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts

_DEFAULTS = {"event_idx": "on", "name": "vhost", "queues": "1"}
"""What an attribute that is not written comes to."""


class StoredInterface(Defaults):
    """``virsh update-device --config`` with the present element and nothing but the attribute changed.

    An empty value is no attribute; a ``<driver>`` that came with it goes with it.
    """

    kinds = (TunableKind.DOMAIN_INTERFACE_DRIVER,)
    lasts = Lasts.STORED

    def __init__(self, machine: Machine) -> None:
        self._domains = Domains(machine)

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - there is one kind
        """The interface in the stored definition."""
        name = name_of(target)
        at = self._domains.at(target)
        interface = find(parsed(at, self._domains.stored(at), "shut off"), target)
        if interface is None:
            raise Refusal(Why.GONE, f"{at} has no such interface in its stored definition")
        attribute = Attribute(at, name, target, interface)
        return Place(str(attribute), target, attribute)

    def read(self, place: Place) -> str:
        """As it is stored now; empty where it is not written."""
        attribute: Attribute = place.handle
        return attribute.value(self._stored(attribute))

    def check(self, place: Place, value: str) -> str | None:
        """Whether libvirt may take it."""
        return fault(place.handle.name, value)

    def write(self, place: Place, value: str) -> None:
        """Into the element as it is now."""
        attribute: Attribute = place.handle
        element = attribute.edited(self._stored(attribute), value).new
        at = attribute.at
        asked(lambda: self._domains.libvirt(at).update_stored_device(at.uuid, element))

    def previous(self, place: Place) -> str:
        """The whole stored definition."""
        return kept(self._domains.definitions(place.handle.at).stored)

    def effect(self, place: Place, value: str, mark: None) -> Seen:  # noqa: ARG002 - nothing is remembered
        """Whether the running definition has it too."""
        attribute: Attribute = place.handle
        live = self._domains.definitions(attribute.at).live
        if live is None:
            return Seen(Effect.VERIFIED, "the domain does not run and has it from its next start on")
        running = find(parsed(attribute.at, live, "running"), attribute.target)
        if running is None:
            return Seen(Effect.NOT_YET, "takes effect at the next cold start; the running domain has no such interface")
        now, default = attribute.value(running), _DEFAULTS.get(attribute.name, "")
        if (now or default) == (value or default):
            return Seen(Effect.VERIFIED, f"the running domain has it too: {attribute.name}='{now or default}'")
        return Seen(Effect.NOT_YET, f"takes effect at the next cold start; now {attribute.name}='{now or default}'")

    def by_hand(self, place: Place, value: str) -> str:
        """Virsh with the element as it was when it was looked up."""
        attribute: Attribute = place.handle
        line = attribute.at.virsh("update-device", "/dev/stdin", "--config")
        try:
            return piped(attribute.edited(attribute.interface, value).new, line)
        except Refusal:
            return attribute.at.virsh("edit")

    def _stored(self, attribute: Attribute) -> DomainInterface:
        interface = find(parsed(attribute.at, self._domains.stored(attribute.at), "shut off"), attribute.target)
        if interface is None:
            raise Refusal(Why.GONE, f"{attribute}: it is not stored any more")
        return interface

"""DOMAIN_INTERFACE_LIVE: the same attribute on the running device, which is taken out and put back for it."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.domains import Domains, asked, kept, parsed
from tuneagent.apply.interfaces import Attribute, fault, find, name_of, piped
from tuneagent.apply.machine import Machine
from tuneagent.model.domain import DomainInterface
from tuneagent.model.errors import ParseError
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts
from tuneagent.parse import hot_plug
from tuneagent.parse.interface_xml import Edit

UNPLUG_S = 30.0
"""The guest's kernel has to let go of the device, and a busy one takes seconds."""
DETACHED = "detached"
"""The value while the interface is not in the running domain."""


@dataclass(frozen=True, slots=True)
class _Running:
    """An attribute of an interface of a running domain."""

    attribute: Attribute
    stored: DomainInterface
    """The same interface in the stored definition: it is put back from there where an end left it taken out."""
    attached: bool


class LiveInterface(Defaults):
    """``virsh detach-device --live``, a wait until the guest let go of it, ``virsh attach-device --live``.

    Same MAC and same place on the bus. Only an interface that is stored too is touched: of another nothing would be
    left where this process ends while it is taken out.
    """

    kinds = (TunableKind.DOMAIN_INTERFACE_LIVE,)
    lasts = Lasts.THREAD

    def __init__(self, machine: Machine) -> None:
        self._domains = Domains(machine)

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - there is one kind
        """The interface in the running definition. Refusal with FACT where it cannot be exchanged."""
        name, at = name_of(target), self._domains.at(target)
        found = self._domains.definitions(at)
        if found.live is None:
            raise Refusal(Why.GONE, f"{at} does not run")
        stored = find(parsed(at, self._domains.stored(at), "shut off"), target)
        running = find(parsed(at, found.live, "running"), target)
        if stored is None:
            why = Why.GONE if running is None else Why.FACT
            raise Refusal(
                why, f"{at}: the interface is not in the stored definition, and could not be put back from it"
            )
        if running is not None:
            _require_exchange(found.live, running, found.state)
        attribute = Attribute(at, name, target, running or stored)
        place = f"{attribute}, of the running device"
        return Place(place, target, _Running(attribute, stored, running is not None))

    def read(self, place: Place) -> str:
        """As in the running definition, empty where it is not written; DETACHED where the interface is not there."""
        attribute: Attribute = place.handle.attribute
        running = self._running(attribute)
        return DETACHED if running is None else attribute.value(running)

    def check(self, place: Place, value: str) -> str | None:
        """Whether libvirt may take it, of an interface that is there."""
        if not place.handle.attached:
            return "the running domain has no such interface"
        return fault(place.handle.attribute.name, value)

    def write(self, place: Place, value: str) -> None:
        """Takes it out and puts it back. Where that fails the old one is put back, and the failure is told."""
        attribute: Attribute = place.handle.attribute
        running = self._running(attribute)
        if running is None:
            self._attach(attribute, attribute.edited(place.handle.stored, value).new)
            return
        elements = attribute.edited(running, value)
        self._detach(attribute, running, elements.old)
        try:
            self._attach(attribute, elements.new)
        except Refusal as refusal:
            raise self._put_back(attribute, elements, refusal) from refusal

    def half_done(self, now: str, old: str, new: str) -> bool:  # noqa: ARG002 - between any two values
        """Whether it was taken out."""
        return now == DETACHED

    def previous(self, place: Place) -> str:
        """The whole stored definition."""
        return kept(self._domains.definitions(place.handle.attribute.at).stored)

    def effect(self, place: Place, value: str, mark: None) -> Seen:  # noqa: ARG002 - nothing is remembered
        """What the running definition says: the device was made with it."""
        now, name = self.read(place), place.handle.attribute.name
        verdict = Effect.VERIFIED if self.same(now, value) else Effect.CONTRADICTED
        return Seen(verdict, f"the running device has {name}='{now}'" if now else f"the running device has no {name}")

    def by_hand(self, place: Place, value: str) -> str:
        """Virsh with the elements as they were when they were looked up."""
        attribute: Attribute = place.handle.attribute
        attach, detach = (attribute.at.virsh(f"{verb}-device", "/dev/stdin", "--live") for verb in ("attach", "detach"))
        try:
            elements = attribute.edited(attribute.interface, value)
        except Refusal:
            return attribute.at.virsh("edit")
        return f"{piped(elements.old, detach)} && sleep 5 && {piped(elements.new, attach)}"

    def _running(self, attribute: Attribute) -> DomainInterface | None:
        live = self._domains.definitions(attribute.at).live
        if live is None:
            raise Refusal(Why.GONE, f"{attribute.at} does not run any more")
        return find(parsed(attribute.at, live, "running"), attribute.target)

    def _detach(self, attribute: Attribute, running: DomainInterface, element: str) -> None:
        at, libvirt = attribute.at, self._domains.libvirt(attribute.at)

        def is_out(live: str) -> bool:
            there = parsed(at, live, "running").interfaces
            return all((one.mac, one.address) != (running.mac, running.address) for one in there)

        asked(lambda: libvirt.detach_device(at.uuid, element))
        try:
            gone = asked(lambda: libvirt.await_live(at.uuid, is_out, UNPLUG_S))
        except Refusal as refusal:
            raise Refusal(Why.FAILED, refusal.detail, refusal.remedy) from refusal
        if not gone:
            raise Refusal(
                Why.FAILED,
                f"{attribute}: the guest did not let go of the device within {UNPLUG_S:g} s",
                f"it may yet: then put it back with {attribute.at.virsh('attach-device', 'FILE', '--live')}",
            )

    def _attach(self, attribute: Attribute, element: str) -> None:
        at = attribute.at
        try:
            asked(lambda: self._domains.libvirt(at).attach_device(at.uuid, element))
        except Refusal as refusal:
            # Taken out and not put back is no fact to be left alone: only a failure is looked at again by the undo.
            raise Refusal(Why.FAILED, refusal.detail, refusal.remedy) from refusal

    def _put_back(self, attribute: Attribute, elements: Edit, refusal: Refusal) -> Refusal:
        """Attaches the old one again, and says how that went."""
        try:
            self._attach(attribute, elements.old)
        except Refusal as second:
            line = piped(elements.old, attribute.at.virsh("attach-device", "/dev/stdin", "--live"))
            said = f"{attribute}: {refusal.detail}; nor could the old one be put back: {second.detail}"
            return Refusal(Why.FAILED, said, f"by hand: {line}")
        return Refusal(Why.FAILED, f"{attribute}: {refusal.detail}; the old one was put back", refusal.remedy)


def _require_exchange(live: str, running: DomainInterface, state: str) -> None:
    if state not in {"running", "idle"}:
        raise Refusal(Why.LATER, f"the domain is {state}: its guest cannot let go of a device now")
    try:
        obstacle = hot_plug.obstacle(live, running.position)
    except ParseError as error:
        obstacle = str(error)
    if obstacle:
        raise Refusal(Why.FACT, f"the device cannot be exchanged while the domain runs: {obstacle}")

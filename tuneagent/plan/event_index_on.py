"""event-index-on: the definition of the virtual machine offers VIRTIO_RING_F_EVENT_IDX to the guest's NIC."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from tuneagent.model.domain import DomainInterface
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.model.virtio import Feature
from tuneagent.plan import domain_interface
from tuneagent.plan.domain_interface import Attribute
from tuneagent.plan.situation import Situation, Solution, nic_target

_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
UNKNOWN_DOMAIN = "DOMAIN"
_WHEN = (
    "run on the hypervisor; takes effect at the next cold start (a reboot inside the guest is none), "
    "or at once when this NIC is detached and attached again with the same MAC and address, which drops its link"
)
_ONLY_IF = (
    "the guest sees that the event index was not negotiated, not why: if the definition does not switch it off, "
    "the device behind it (vhost-user, vDPA, another hypervisor) does not offer it and this changes nothing"
)
_WHY = "without it the host injects an interrupt for every packet until the guest has switched notifications off"


def solve(situation: Situation) -> Solution | Declined:
    """``event_idx`` of the interface's ``<driver>`` in the libvirt domain, found by domain UUID and MAC address.

    On the hypervisor the definition itself is known; in the guest only that the feature was not negotiated.
    """
    return _from_the_guest(situation) if situation.domain is None else _from_the_host(situation)


def _from_the_host(situation: Situation) -> Solution | Declined:
    found = domain_interface.definition_of(situation)
    if isinstance(found, str):
        return situation.declined(found)
    if found[1].event_idx is not False:
        return situation.declined(
            "already so: the definition does not switch the event index off; if the guest runs without it, its driver "
            "or the device behind it does not know it"
        )
    return domain_interface.change(situation, Attribute("event_idx", "on", _written), _WHY)


def _written(interface: DomainInterface) -> str:
    return "off" if interface.event_idx is False else "on"


def _from_the_guest(situation: Situation) -> Solution | Declined:
    nic = situation.nic
    device = situation.view.after.virtio_device(nic.virtio) if nic else None
    on = device.has(Feature.RING_EVENT_IDX) if device else None
    if nic is None or on is None:
        return situation.declined("which virtio features were negotiated is not known")
    if on:
        return situation.declined("already so: the event index was negotiated")
    if nic.mac is None or not _MAC.fullmatch(nic.mac):
        return situation.declined("without the MAC address the interface cannot be found in the domain's definition")
    return _solution(situation, nic, nic.mac)


def domain_of(situation: Situation) -> str | None:
    """The libvirt domain's UUID, which a KVM guest sees as its product_uuid (mode 0400); None where it is not known."""
    identity = situation.view.after.identity
    uuid = identity.product_uuid if identity else None
    return uuid.lower() if uuid is not None and _UUID.fullmatch(uuid) else None


def _solution(situation: Situation, nic: Nic, mac: str) -> Solution:
    uuid = domain_of(situation)
    unknown = (f"the domain's UUID is not known (reading product_uuid needs root): put its name for {UNKNOWN_DOMAIN}",)
    return Solution((_change(nic, mac, uuid),), (_WHEN, _ONLY_IF, *(unknown if uuid is None else ())))


def _change(nic: Nic, mac: str, uuid: str | None) -> Change:
    domain = uuid or UNKNOWN_DOMAIN
    return Change(
        kind=TunableKind.DOMAIN_INTERFACE_DRIVER,
        target=replace(nic_target(nic), domain_uuid=uuid),
        where=f"libvirt domain {domain}: event_idx of <driver> in the <interface> with <mac address='{mac}'/>",
        old="off",
        new="on",
        why=_WHY,
        do=_edit(domain, mac, "on"),
        undo=_edit(domain, mac, "off"),
    )


def _edit(domain: str, mac: str, value: str) -> str:
    """virt-xml has an option of its own for a driver's name and queues but none for event_idx: it is set by XPath."""
    option = f"xpath1.set=./driver/@event_idx,xpath1.value={value}"
    return f"virt-xml {shlex.quote(domain)} --edit {shlex.quote(f'mac={mac}')} --network {option}"

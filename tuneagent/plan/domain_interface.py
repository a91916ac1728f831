"""One attribute of an interface's ``<driver>`` in a stored definition: the line that changes it and the one back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.plan import Change, Declined, Target, TunableKind
from tuneagent.parse.interface_xml import Edit, edit
from tuneagent.plan.situation import Situation, Solution

_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
SYSTEM = "qemu:///system"
"""The connection that virsh takes by itself when root calls it."""
_COLD_START = (
    "only the stored definition is changed: libvirt refuses these attributes on a running domain (cannot modify virtio "
    "network device driver attributes). It counts from the next cold start on; a reboot inside the guest is none"
)
_LINK_DROPS = (
    "same MAC and address. Its link is down in between, so never the NIC you came in by; on q35 it must sit on a "
    "pcie-root-port, or a free one must be there"
)
_TRANSIENT = "a transient domain has no stored definition: there, change what it is created from"
_NO_XML = (
    "the interface's own element is not known here, so the lines are for virt-xml (package virtinst or virt-install)"
)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of ``<driver>`` and the value that it should have."""

    name: str
    wanted: str
    value: Callable[[DomainInterface], str]
    """What it comes to in a definition, written or not."""


def domain_uuid(situation: Situation) -> str | None:
    """The domain's UUID, lower case, for commands: names may hold blanks and quotes. None where it is not one."""
    key = situation.domain.key if situation.domain is not None else ""
    return key.lower() if _UUID.fullmatch(key) else None


def virsh(situation: Situation, *words: str) -> str:
    """A line for virsh, on the connection that told of the domain."""
    uri = uri_of(situation)
    elsewhere = ("-c", uri) if uri is not None else ()
    return shlex.join(("virsh", *elsewhere, *words))


def uri_of(situation: Situation) -> str | None:
    """The connection that has the domain, for a target; None for the system's own and where none is known."""
    domain = situation.domain.definition if situation.domain is not None else None
    return domain.uri if domain is not None and domain.uri not in {"", SYSTEM} else None


def definition_of(situation: Situation) -> tuple[Domain, DomainInterface] | str:
    """The running definition and its interface, or why there is nothing to change."""
    if situation.domain is None:
        return "which virtual machine it is about is not known here; run it on the hypervisor"
    domain, interface = situation.domain.definition, situation.interface
    if domain is None:
        return "libvirt tells of no such domain: whoever started this QEMU must change its command line"
    if interface is None:
        return "it has no virtio interface" if not domain.virtio_interfaces else "which interface is not known"
    if not interface.is_virtio:
        return "the guest sees no virtio-net device there that the definition describes"
    return domain, interface


def change(situation: Situation, attribute: Attribute, why: str, *notes: str) -> Solution | Declined:
    """The change of the stored definition, unless that has it already."""
    found, uuid = definition_of(situation), domain_uuid(situation)
    if isinstance(found, str):
        return situation.declined(found)
    if uuid is None:
        return situation.declined("its UUID is not known, by which the definition is found")
    domain, interface = found
    stored = interface if domain.pending is None else domain.stored_interface(interface)
    if stored is None:
        return situation.declined(
            "the stored definition has no such interface: it was plugged in for this run, or it is ambiguous there"
        )
    if domain.pending is not None and attribute.value(stored) == attribute.wanted:
        return situation.declined(
            f"already stored ({attribute.name}='{attribute.wanted}'): it takes effect at the next cold start"
        )
    return _solution(situation, _Place(uuid, domain.pending or domain, stored), attribute, (why, notes))


@dataclass(frozen=True, slots=True)
class _Place:
    """The stored definition and the interface in it."""

    uuid: str
    domain: Domain
    interface: DomainInterface


def _solution(
    situation: Situation, place: _Place, attribute: Attribute, words: tuple[str, tuple[str, ...]]
) -> Solution | Declined:
    before = edit(place.interface.xml, situation.earlier) if situation.earlier else None
    made = edit(before.new if before else place.interface.xml, {attribute.name: attribute.wanted})
    old = attribute.value(place.interface)
    do, undo = (
        (_update(situation, place, made.new), _update(situation, place, made.old))
        if made is not None
        else (_virt_xml(place, attribute, attribute.wanted), _virt_xml(place, attribute, old))
    )
    why, notes = words
    one = Change(
        kind=TunableKind.DOMAIN_INTERFACE_DRIVER,
        target=_target(situation, place, attribute.name),
        where=_where(place, attribute.name),
        old=old,
        new=attribute.wanted,
        why=why,
        do=do,
        undo=undo,
        diff=made.diff if made is not None else (),
    )
    more = _more_notes(situation, place, made)
    return Solution((one,), (*notes, *more))


def _more_notes(situation: Situation, place: _Place, made: Edit | None) -> tuple[str, ...]:
    told = (_COLD_START, _live(situation, place, made), _TRANSIENT)
    if made is None:
        return (*told, _NO_XML)
    if not situation.earlier:
        return told
    before = ", ".join(f"{name}='{value}'" for name, value in situation.earlier.items())
    return (f"these lines write the whole element, with what is advised for it before: {before}", *told)


def _live(situation: Situation, place: _Place, made: Edit | None) -> str:
    detach, attach = (
        virsh(situation, f"{verb}-device", place.uuid, "/dev/stdin" if made else "FILE", "--live")
        for verb in ("detach", "attach")
    )
    if made is None:
        how = f"`{detach}` with the interface's present element, `{attach}` with the new one"
    else:
        how = f"pipe the undo line's element into `{detach}`, then the do line's into `{attach}`"
    return f"at once instead: {how}: {_LINK_DROPS}"


def _update(situation: Situation, place: _Place, xml: str) -> str:
    return f"printf %s {shlex.quote(xml)} | {virsh(situation, 'update-device', place.uuid, '/dev/stdin', '--config')}"


def _virt_xml(place: _Place, attribute: Attribute, value: str) -> str:
    """By the MAC where only this interface has it, else by its place, which virt-xml counts from 1."""
    mac = place.interface.mac
    alone = mac is not None and _MAC.fullmatch(mac) and not _shared(place)
    which = f"mac={mac}" if alone else str(place.interface.position + 1)
    uri = place.domain.uri
    return shlex.join(
        (
            "virt-xml",
            *(("--connect", uri) if uri not in {"", SYSTEM} else ()),
            place.uuid,
            "--edit",
            which,
            "--network",
            f"xpath1.set=./driver/@{attribute.name},xpath1.value={value}",
        )
    )


def _shared(place: _Place) -> bool:
    return sum(one.mac == place.interface.mac for one in place.domain.interfaces) > 1


def _where(place: _Place, attribute: str) -> str:
    interface = place.interface
    if interface.mac is None:
        which = f"interface {interface.position} of the definition, counted from 0"
    elif _shared(place):
        at = f" at {interface.address}" if interface.address else f", number {interface.position} counted from 0"
        which = f"<interface> with <mac address='{interface.mac}'/>{at}"
    else:
        which = f"<interface> with <mac address='{interface.mac}'/>"
    return f"libvirt domain {place.uuid}: {attribute} of <driver> in the {which}"


def _target(situation: Situation, place: _Place, attribute: str) -> Target:
    running = situation.interface
    return Target(
        mac=place.interface.mac,
        domain_uuid=place.uuid,
        alias=running.alias if running is not None else None,
        address=place.interface.address,
        position=place.interface.position,
        parameter=attribute,
        interface=running.target if running is not None else None,
        uri=uri_of(situation),
    )

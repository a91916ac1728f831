"""Whether a guest's view is that of a given domain: by product UUID, else by MAC addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuneagent.model.domain import Domain
from tuneagent.model.snapshot import Snapshot

UUID = "product UUID"
SWAPPED = f"{UUID} (the bytes of its first three fields in the other order)"
"""SMBIOS before 2.6 has them big-endian, later little-endian (DMTF DSP0134, 7.2.1): who mistakes one, swaps them."""
MAC = "MAC address"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOBODY = frozenset({"0" * 32, "f" * 32})
"""What firmware has where nobody set one (DSP0134, 7.2.1)."""


@dataclass(frozen=True, slots=True)
class Same:
    """How a guest was told to be the domain's; ``reason`` says why it was not."""

    joined_by: str | None
    reason: str | None = None


def compare(definition: Domain | None, guest: Snapshot) -> Same:
    """By product UUID, which only root can read in a guest; else by a MAC address that both have."""
    if definition is None:
        return Same(None, "libvirt tells no definition of this virtual machine: there is nothing to know its guest by")
    uuid = _product_uuid(guest)
    if uuid == definition.uuid.lower():
        return Same(UUID)
    if uuid is not None and swapped(uuid) == definition.uuid.lower():
        return Same(SWAPPED)
    if _macs_of(definition) & macs(guest):
        return Same(MAC if uuid is None else f"{MAC} (its product UUID {uuid} is another)")
    told = "tells no product UUID" if uuid is None else f"has the product UUID {uuid}"
    return Same(None, f"the guest {told} and none of the MAC addresses of this domain ({definition.uuid})")


def swapped(uuid: str) -> str:
    """The UUID with the bytes of its first three fields in the other order."""
    first, second, third, rest = uuid.split("-", 3)
    return "-".join((*(bytes.fromhex(field)[::-1].hex() for field in (first, second, third)), rest))


def macs(guest: Snapshot) -> set[str]:
    """MAC addresses of a guest's interfaces, lower case, without the all-zero one of loopback."""
    return {nic.mac.lower() for nic in guest.nics or () if nic.mac is not None and nic.mac.strip("0:")}


def _macs_of(definition: Domain) -> set[str]:
    return {one.mac.lower() for one in definition.interfaces if one.mac is not None}


def _product_uuid(guest: Snapshot) -> str | None:
    text = guest.identity.product_uuid if guest.identity is not None else None
    uuid = (text or "").strip().lower()
    return uuid if _UUID.fullmatch(uuid) and uuid.replace("-", "") not in _NOBODY else None

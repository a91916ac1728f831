"""A domain's interfaces and the guest's, one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tuneagent.model.domain import DomainInterface
from tuneagent.model.domain_view import DomainView, JoinedNic
from tuneagent.model.nic import Nic
from tuneagent.model.view import View


def pairs(domain: DomainView, guest: View) -> tuple[JoinedNic, ...]:
    """Interfaces that are seen from both sides, in the definition's order; what is not plainly one is left out."""
    by_mac: dict[str, list[Nic]] = defaultdict(list)
    for nic in guest.after.nics or ():
        if nic.mac is not None and nic.bus_address is not None:
            by_mac[nic.mac.lower()].append(nic)
    found: list[JoinedNic] = []
    for interface in domain.definition.interfaces if domain.definition is not None else ():
        same = _nic(domain, interface, by_mac)
        if same is not None:
            found.append(JoinedNic(interface, domain.tap_of(interface), same, guest.nics.get(same.name)))
    return tuple(found)


def _nic(domain: DomainView, interface: DomainInterface, by_mac: Mapping[str, list[Nic]]) -> Nic | None:
    """By MAC; by PCI address as well where several have one: two of a team, or what is stacked on the device."""
    if interface.mac is None or domain.definition is None:
        return None
    mac = interface.mac.lower()
    nics = by_mac.get(mac, [])
    alike = [one for one in domain.definition.interfaces if one.mac is not None and one.mac.lower() == mac]
    if len(alike) > 1 or len(nics) > 1:
        nics = [one for one in nics if one.bus_address == interface.address]
    if len(nics) > 1:
        # net_failover's master has the device of its standby.
        nics = [one for one in nics if not one.lower]
    return nics[0] if len(nics) == 1 else None

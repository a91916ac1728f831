"""Whether an interface can be taken out of a running domain and put back (libvirt's docs/pci-hotplug.rst)."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from tuneagent.parse import domain_interface
from tuneagent.parse.xml_text import root

_WITH_HOT_PLUG = frozenset(
    {"pci-root", "pci-bridge", "pcie-root-port", "pcie-switch-downstream-port", "pcie-to-pci-bridge"}
)
"""Models of ``<controller type='pci'>`` whose slots take devices while the domain runs (VIR_PCI_CONNECT_HOTPLUGGABLE of
virDomainPCIControllerModelToConnectType()); ``pcie-root``, q35's own bus, is none."""


def obstacle(text: str, position: int) -> str:
    """Why the interface at that place of a running definition cannot; empty where nothing is in the way.

    ParseError for a text that is no XML of bounded size.
    """
    domain = root(text)
    interfaces = domain.findall("devices/interface")
    if not 0 <= position < len(interfaces):
        return "it is not in the running definition"
    address = interfaces[position].find("address")
    kind = address.get("type") if address is not None else None
    if address is None or kind not in {"pci", "ccw"}:
        return f"a device on the bus {kind!r} cannot be exchanged while the domain runs"
    return "" if kind == "ccw" else _of_slot(domain, address)


def _of_slot(domain: Element, address: Element) -> str:
    place = domain_interface.pci_address(address, "<address>", [])
    if place is None:
        return "its PCI address is not told"
    if address.get("multifunction") == "on" or not place.endswith(".0"):
        return f"it shares the slot of {place} with other functions, which come and go together only"
    bus = int(place.split(":")[1], 16)
    for one in domain.findall("devices/controller"):
        if one.get("type") == "pci" and one.get("index") == str(bus):
            return _of_bus(one, place)
    return f"the controller of the bus of {place} is not told"


def _of_bus(controller: Element, place: str) -> str:
    model, target = controller.get("model"), controller.find("target")
    if model not in _WITH_HOT_PLUG:
        return f"it sits at {place} on a {model} and not on a pcie-root-port of its own: there is no hot-plug there"
    if target is not None and target.get("hotplug") == "off":
        return f"hot-plug is switched off for the port of {place}"
    return ""

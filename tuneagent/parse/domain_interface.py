"""``<interface>`` of a domain's definition (libvirt's docs/formatdomain.rst, "Network interfaces")."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from tuneagent.model.domain import DomainInterface
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import shown
from tuneagent.parse.xml_fields import Fields
from tuneagent.parse.xml_text import one_line

MAX_XML = 16_384
MAX_QUEUES = 65_535
"""Rings and queue pairs: 16 bits in virtio's configuration."""

_MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}")
_SOURCES = {
    "network": "network",
    "bridge": "bridge",
    "direct": "dev",
    "ethernet": "dev",
    "user": "dev",
    "vdpa": "dev",
    "vhostuser": "path",
    "internal": "name",
    "vds": "switchid",
}
"""Attribute of ``<source>`` that says what an interface is joined to, by its type."""
_SOCKETS = frozenset({"server", "client", "mcast", "udp"})
_PCI_PARTS = (("domain", 0xFFFF_FFFF), ("bus", 0xFF), ("slot", 0x1F), ("function", 0x7))
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10}")


def parse(element: Element, position: int, faults: list[ParseError]) -> DomainInterface | None:
    """The interface; what is wrong with a part of it is added to ``faults``. None for one without a type."""
    place = f"interface {position}"
    kind = Fields(element, f"{place}: <interface>", faults).word("type")
    if kind is None:
        faults.append(ParseError(f"{place}: <interface> type: is not told, so the interface is left out"))
        return None
    parts = {child.tag: child for child in reversed(element)}  # the first of each kind

    def part(tag: str) -> Fields:
        return Fields(parts.get(tag), f"{place}: <{tag}>", faults)

    driver = part("driver")
    return DomainInterface(
        position=position,
        type=kind,
        mac=_mac(part("mac")),
        model=part("model").word("type"),
        source=_source(kind, parts.get("source"), f"{place}: <source>", faults),
        target=part("target").word("dev"),
        alias=part("alias").word("name"),
        address=pci_address(parts.get("address"), f"{place}: <address>", faults),
        driver_name=driver.word("name"),
        queues=driver.natural("queues", MAX_QUEUES),
        event_idx=driver.switch("event_idx"),
        ioeventfd=driver.switch("ioeventfd"),
        packed=driver.switch("packed"),
        txmode=driver.word("txmode"),
        rx_queue_size=driver.natural("rx_queue_size", MAX_QUEUES),
        tx_queue_size=driver.natural("tx_queue_size", MAX_QUEUES),
        teaming=part("teaming").word("type"),
        link_up=part("link").switch("state"),
        xml=one_line(element, MAX_XML),
    )


def pci_address(element: Element | None, place: str, faults: list[ParseError]) -> str | None:
    """``0000:01:00.0``; None for addresses of other buses and where libvirt has not chosen one yet."""
    if element is None or element.get("type") not in {None, "pci"}:
        return None
    told = [(name, element.get(name), highest) for name, highest in _PCI_PARTS]
    if all(value is None for _, value, _ in told):
        return None
    parts: list[int] = []
    for name, value, highest in told:
        number = _number(value or "0", highest)
        if number is None:
            faults.append(ParseError(f"{place} {name}: {shown(value or '')} is not a number of 0 to {highest:#x}"))
            return None
        parts.append(number)
    return "{:04x}:{:02x}:{:02x}.{:x}".format(*parts)


def _number(word: str, highest: int) -> int | None:
    if _NUMBER.fullmatch(word) is None:
        return None
    number = int(word, 16 if word[:2] in {"0x", "0X"} else 10)
    return number if number <= highest else None


def _mac(fields: Fields) -> str | None:
    told = fields.word("address")
    mac = told.lower() if told else None
    if mac is not None and _MAC.fullmatch(mac) is None:
        fields.note("address", f"{shown(mac)} is no MAC address")
        return None
    return mac


def _source(kind: str, element: Element | None, place: str, faults: list[ParseError]) -> str | None:
    if element is None:
        return None
    fields = Fields(element, place, faults)
    if kind == "hostdev":
        return pci_address(element.find("address"), f"{place}<address>", faults)
    if kind in _SOCKETS:
        address, port = fields.word("address"), fields.natural("port", MAX_QUEUES)
        return f"{address or ''}:{port}" if port is not None else address
    return fields.word(_SOURCES[kind]) if kind in _SOURCES else None

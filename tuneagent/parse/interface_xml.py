"""The ``<interface>`` of a libvirt definition with other attributes of its ``<driver>``: text in, text out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element, ParseError

LARGEST = 32 * 1024
"""Of an element in characters. A command line takes 128 KiB a word, and quoting makes it longer."""
DEEPEST = 16
"""Levels of elements; writing them out recurses. A real <interface> has four."""
_FOREIGN = ("<!", "xmlns", "xml:")
"""What libvirt writes into no <interface>: a DOCTYPE, which defines entities, and names of another namespace."""
GENERATED = ("vnet", "macvtap", "macvlan")
"""libvirt chooses names that begin so, and keeps none of them (VIR_NET_GENERATED_*_PREFIX)."""
_USERS_ALIAS = "ua-"
_CHOSEN_AT_START = ("portid", "bridge", "dev", "mode")
"""What libvirt adds to the ``<source>`` of a network's interface while it runs."""
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": " "})
_IN_VALUES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_QUOTED = {
    "'": str.maketrans({**_IN_VALUES, "'": "&apos;"}),
    '"': str.maketrans({**_IN_VALUES, '"': "&quot;"}),
}
"""By the quote. Not xml.sax.saxutils, which loads urllib, ssl and http: 2 MB and 20 ms of a process to be small."""
_SHOWN = ("mac", "alias", "address")


@dataclass(frozen=True, slots=True)
class Edit:
    """The element as it is stored, before and after, each on one line; and the lines that differ, for people."""

    old: str
    new: str
    diff: tuple[str, ...]


def edit(xml: str, driver: Mapping[str, str | None]) -> Edit | None:
    """The element with these attributes of ``<driver>``; None where the text is no ``<interface>`` that can be told.

    An attribute of None goes, and so does a ``<driver>`` of which nothing is left then.
    What libvirt adds while a domain runs is left out of both (https://libvirt.org/formatdomain.html#network-interfaces).
    """
    element = _element(xml)
    if element is None:
        return None
    _forget_the_run(element)
    old, before = _text(element), _shown(element.find("driver"))
    _set(element, driver)
    new = _text(element)
    if not (old.isprintable() and new.isprintable()):
        return None
    return Edit(old, new, _diff(element, before, _shown(element.find("driver"))))


def driver_attribute(xml: str, name: str) -> str | None:
    """An attribute of ``<driver>`` as written, empty where it is not; None where the text is no ``<interface>``."""
    element = _element(xml)
    if element is None:
        return None
    driver = element.find("driver")
    return "" if driver is None else driver.get(name, "")


def _set(element: Element, driver: Mapping[str, str | None]) -> None:
    changed = element.find("driver")
    if changed is None:
        changed = ET.SubElement(element, "driver")
    for name, value in driver.items():
        if value is None:
            changed.attrib.pop(name, None)
        else:
            changed.set(name, value)
    if not changed.attrib and not len(changed):
        element.remove(changed)


def _element(xml: str) -> Element | None:
    if not xml or len(xml) > LARGEST or any(sign in xml for sign in _FOREIGN):
        return None
    try:
        element = ET.fromstring(xml)  # noqa: S314 - bounded, and without a DOCTYPE there are no entities
    except (ParseError, ValueError):
        return None
    return element if element.tag == "interface" and _is_shallow(element) else None


def _is_shallow(element: Element) -> bool:
    level = [element]
    for _ in range(DEEPEST):
        level = [child for one in level for child in one]
    return not level


def _forget_the_run(element: Element) -> None:
    """To what libvirt stores: no generated device name, no alias but the user's, no port of the network's."""
    for child in list(element):
        child.tail = None
        generated = child.tag == "target" and child.get("dev", "").startswith(GENERATED)
        if generated:
            del child.attrib["dev"]
        bare = generated and not child.attrib and not len(child)
        if bare or (child.tag == "alias" and not child.get("name", "").startswith(_USERS_ALIAS)):
            element.remove(child)
    _forget_the_port(element)
    element.text = element.tail = None


def _forget_the_port(element: Element) -> None:
    source = element.find("source")
    if source is None or source.get("network") is None:
        return
    element.set("type", "network")  # shown as what the network gave it: a bridge's port, a macvtap
    for name in _CHOSEN_AT_START:
        source.attrib.pop(name, None)


def _text(element: Element) -> str:
    """On one line, in ASCII: what a terminal or an editor would show as something else is a character reference."""
    return _in_ascii(_whole(element))


def _whole(element: Element) -> str:
    # ElementTree's own writer collects namespaces and opens a stream for each element: five times the cost.
    start = _start(element, '"')
    if not element.text and not len(element):
        return start
    inside = "".join(f"{_whole(child)}{(child.tail or '').translate(_IN_TEXT)}" for child in element)
    return f"{start}{(element.text or '').translate(_IN_TEXT)}{inside}</{element.tag}>"


def _start(element: Element, quote: str) -> str:
    """An element's start tag, closed where it is empty."""
    references = _QUOTED[quote]
    values = "".join(f" {name}={quote}{value.translate(references)}{quote}" for name, value in element.attrib.items())
    return f"<{element.tag}{values}{'>' if element.text or len(element) else '/>'}"


def _shown(element: Element | None) -> str | None:
    """An element's start tag with quotes as libvirt writes them, for people."""
    return None if element is None else _in_ascii(_start(element, "'"))


def _in_ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _diff(element: Element, before: str | None, after: str | None) -> tuple[str, ...]:
    around = [f"    {_shown(child)}" for child in element if child.tag in _SHOWN]
    return (
        f"  {_shown(element)}",
        *around[:1],
        *(() if before is None else (f"-   {before}",)),
        *(() if after is None else (f"+   {after}",)),
        *around[1:],
        "  </interface>",
    )

"""Attributes of an XML element, each checked: a wrong one is noted and reads as None, the others stay of use."""

from __future__ import annotations

from functools import lru_cache
from xml.etree.ElementTree import Element

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse import cpulist
from tuneagent.parse.lines import U32_MAX, natural, require_printable, shown

MAX_WORD = 1024
"""Characters; the longest are paths of sockets and names of volumes."""
_SHORT = 256
_SWITCH = {"on": True, "yes": True, "up": True, "off": False, "no": False, "down": False}


class Fields:
    """The attributes of one element; of none where the element is not there."""

    __slots__ = ("_attributes", "_faults", "_place")

    def __init__(self, element: Element | None, place: str, faults: list[ParseError]) -> None:
        """``place`` says where the element stands; what is wrong with it is added to ``faults``."""
        self._attributes = {} if element is None else element.attrib
        self._place = place
        self._faults = faults

    def note(self, name: str, detail: str, reason: Reason = Reason.MALFORMED) -> None:
        """Add a fault of an attribute."""
        self._faults.append(ParseError(f"{self._place} {name}: {detail}", reason=reason))

    def word(self, name: str) -> str | None:
        """A printable text."""
        value = self._attributes.get(name)
        if value is None:
            return None
        try:
            return printable(value)
        except ParseError as error:
            self.note(name, error.detail, error.reason)
            return None

    def natural(self, name: str, highest: int = U32_MAX) -> int | None:
        """A decimal number."""
        value = self._attributes.get(name)
        if value is None:
            return None
        try:
            return natural(value, None, highest)
        except ParseError as error:
            self.note(name, error.detail)
            return None

    def switch(self, name: str) -> bool | None:
        """on/off, yes/no, up/down (virTristateSwitch, virTristateBool)."""
        value = self._attributes.get(name)
        if value is None:
            return None
        told = _SWITCH.get(value)
        if told is None:
            self.note(name, f"{shown(value)} is neither on nor off")
        return told

    def ids(self, name: str) -> CpuSet | None:
        """A set of the host's CPUs or nodes."""
        value = self._attributes.get(name)
        if value is None:
            return None
        try:
            return _short_id_set(value) if len(value) <= _SHORT else id_set(value)
        except ParseError as error:
            self.note(name, error.detail, error.reason)
            return None


def printable(text: str) -> str:
    """A text of 1 to MAX_WORD printable characters; ParseError otherwise."""
    if not text:
        raise ParseError("nothing in it", reason=Reason.EMPTY)
    if len(text) > MAX_WORD:
        raise ParseError(f"more than {MAX_WORD} characters", reason=Reason.TOO_LARGE)
    require_printable(text, None)
    return text


def id_set(text: str) -> CpuSet:
    """CPUs or nodes as libvirt writes them: the kernel's list, from which ``^3`` takes one away (virBitmapParse).

    ParseError for what is no such list and for one that names nothing.
    """
    if len(text) > cpulist.MAX_LENGTH:
        raise ParseError(f"a list of more than {cpulist.MAX_LENGTH} characters", reason=Reason.TOO_LARGE)
    found = cpulist.parse(text) if "^" not in text else _with_exceptions(text)
    if not found:
        raise ParseError(f"{shown(text)} names nothing", reason=Reason.EMPTY)
    return found


def _with_exceptions(text: str) -> CpuSet:
    found = CpuSet()
    for region in text.split(","):
        word = region.strip()
        found = found - cpulist.parse(word[1:]) if word.startswith("^") else found | cpulist.parse(word)
    return found


_short_id_set = lru_cache(maxsize=1024)(id_set)
"""A host's virtual machines share few sets between them."""

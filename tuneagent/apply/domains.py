"""The domains of this machine's libvirt, as actuators ask for them and change them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.domain_target import SYSTEM, uri_of, uuid_of
from tuneagent.apply.machine import Machine
from tuneagent.machine.libvirt_writing import Definitions, LibvirtWriting
from tuneagent.model.domain import Domain
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.missing import Reason
from tuneagent.model.plan import Target
from tuneagent.parse import domain_xml

MOST_KEPT = 256 * 1024
"""Characters of a definition that are kept for people; with hundreds of devices it has half of them."""
_WHY = {
    # No daemon is no proof that the domain is gone: what was changed there still is.
    Reason.ABSENT: Why.LATER,
    Reason.PERMISSION: Why.FORBIDDEN,
    Reason.UNSUPPORTED: Why.FACT,
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class At:
    """One domain of one libvirt."""

    uri: str
    uuid: str

    def __str__(self) -> str:
        """For people."""
        return f"libvirt domain {self.uuid}"

    def virsh(self, command: str, *words: str) -> str:
        """A shell line that is about it."""
        elsewhere = () if self.uri == SYSTEM else ("-c", self.uri)
        return shlex.join(("virsh", *elsewhere, command, self.uuid, *words))


class Domains:
    """Connections are kept, one libvirt each. Whatever goes wrong is a Refusal."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._connected: dict[str, LibvirtWriting] = {}

    def at(self, target: Target) -> At:
        """The domain that a target names, whether it is there or not."""
        if not self._machine.live:
            raise Refusal(Why.FACT, "libvirt belongs to a running machine, and this is a tree of files")
        return At(uri_of(target), uuid_of(target))

    def libvirt(self, at: At) -> LibvirtWriting:
        """The libvirt that has the domain; to be asked through ``asked``."""
        return self._connected.setdefault(at.uri, LibvirtWriting(at.uri))

    def definitions(self, at: At) -> Definitions:
        """Both definitions, as they are now. Refusal with GONE where the domain is not there."""
        found = asked(lambda: self.libvirt(at).definitions(at.uuid))
        if found is None:
            raise Refusal(Why.GONE, f"{at} is not there any more")
        return found

    def stored(self, at: At) -> str:
        """The stored definition. Refusal with FACT for a transient domain."""
        text = self.definitions(at).stored
        if text is None:
            raise Refusal(Why.FACT, f"{at} is transient: it has no stored definition", "change what it is created from")
        return text


def asked(question: Callable[[], T]) -> T:
    """The answer of libvirt, or a Refusal in its words."""
    try:
        return question()
    except SourceError as error:
        raise Refusal(_WHY.get(error.reason, Why.FAILED), error.detail, error.remedy) from error


def parsed(at: At, text: str, state: str) -> Domain:
    """A definition's nouns."""
    try:
        return domain_xml.parse(text, at.uri, state).domain
    except ParseError as error:
        raise Refusal(Why.FACT, f"the definition of {at} cannot be read: {error}") from error


def kept(text: str | None) -> str:
    """A definition for the journal; nothing of one that is too long for it."""
    return text if text is not None and len(text) <= MOST_KEPT else ""

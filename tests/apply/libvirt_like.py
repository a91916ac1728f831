"""libvirt's own test driver with a domain of virtio interfaces, and stand-ins for the three calls that it lacks.

The stand-ins work on the driver's own definitions: what they store is parsed and written anew by libvirt itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.machine.libvirt_connection import Connection, bindings
from tuneagent.machine.live import Live
from tuneagent.machine.writable import WritableRoot

URI = "test:///default"
UUID = "0e6f1d2c-3b4a-4596-8778-695a4b3c2d1e"
MAC = "52:54:00:0a:0b:0c"
TWIN = "52:54:00:0a:0b:0d"
_XML = """<domain type='test'><name>w\u00fcrfel</name><uuid>{uuid}</uuid><memory>65536</memory><vcpu>2</vcpu>
<os><type>hvm</type></os><devices>
<controller type='pci' index='0' model='pcie-root'/><controller type='pci' index='1' model='pcie-root-port'/>
<controller type='pci' index='2' model='pcie-root-port'/><controller type='pci' index='3' model='pcie-root-port'/>
<controller type='pci' index='4' model='pcie-root-port'/>
{interfaces}<graphics type='vnc' port='-1' autoport='yes' passwd='ruby'/></devices></domain>"""
_INTERFACE = """<interface type='bridge'><mac address='{mac}'/><source bridge='br{bus}'/><model type='{model}'/>{driver}
<address type='pci' domain='0' bus='{bus}' slot='0' function='0'/></interface>"""
FIRST = "<driver name='vhost' event_idx='off' queues='2'/>"
INTERFACES = (
    _INTERFACE.format(mac=MAC, bus=1, model="virtio", driver=FIRST),
    _INTERFACE.format(mac=TWIN, bus=2, model="virtio", driver=""),
    _INTERFACE.format(mac=TWIN, bus=3, model="virtio", driver="<driver queues='3'/>"),
    _INTERFACE.format(mac="52:54:00:0a:0b:0e", bus=4, model="e1000e", driver=""),
)


def libvirt_error(code: str, words: str) -> Exception:
    """What libvirt raises. Raise it at once: a name for it in a frame would keep libvirt's objects alive."""
    error: Exception = bindings().libvirtError(words)
    number = getattr(bindings(), f"VIR_ERR_{code}")
    error.err = (number, 0, words, 0, "", None, None, 0, 0)  # type: ignore[attr-defined]  # libvirtError's own
    return error


def machine() -> Machine:
    source = Live()
    return Machine(source, WritableRoot(), Lookup(source))


@dataclass(slots=True)
class LibvirtLike:
    """The domain, and what was asked of it."""

    keeper: Connection
    live: str = ""
    """What the domain runs with, where it is not as it began."""
    calls: list[str] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    """Calls that are refused, and how often."""
    letting_go: int = 0
    """Looks for which the guest holds a device that it was asked to let go of."""

    def stored(self) -> str:
        return self.text(bindings().VIR_DOMAIN_XML_INACTIVE)

    def running(self) -> str:
        return self.text(0)

    def text(self, flags: int) -> str:
        return self.keeper.ask(lambda it: str(it.lookupByUUIDString(UUID).XMLDesc(flags)))

    def define(self, edit: Any) -> None:
        """What an administrator stores."""
        flags = bindings().VIR_DOMAIN_XML_INACTIVE | bindings().VIR_DOMAIN_XML_SECURE

        def question(it: Any) -> None:
            it.defineXML(edit(it.lookupByUUIDString(UUID).XMLDesc(flags)))

        self.keeper.ask(question)

    def stop(self) -> None:
        self.keeper.ask(lambda it: it.lookupByUUIDString(UUID).destroy())

    def undefine(self) -> None:
        self.keeper.ask(lambda it: it.lookupByUUIDString(UUID).undefine())

    def attach(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The stand-ins."""
        domain = bindings().virDomain
        describe = domain.XMLDesc

        def described(it: Any, flags: int = 0) -> str:
            if flags & bindings().VIR_DOMAIN_XML_INACTIVE or not self.live or it.UUIDString() != UUID:
                return str(describe(it, flags))
            return self._looked()

        monkeypatch.setattr(domain, "XMLDesc", described)
        for name, call in (("update", self._update), ("detach", self._detach), ("attach", self._attach)):
            monkeypatch.setattr(domain, f"{name}DeviceFlags", _method(call))

    def _looked(self) -> str:
        if self.letting_go and self._leaving is not None:
            self.letting_go -= 1
            if not self.letting_go:
                self._take_out(self._leaving)
        return self.live

    _leaving: str | None = None

    def _called(self, call: str, element: str) -> None:
        self.calls.append(f"{call} {element}")
        if self.refused.get(call, 0):
            self.refused[call] -= 1
            raise libvirt_error("OPERATION_FAILED", f"{call} refused")

    def _update(self, it: Any, element: str, flags: int) -> int:
        assert flags == bindings().VIR_DOMAIN_AFFECT_CONFIG
        self._called("update", element)
        domain = _parsed(it.XMLDesc(bindings().VIR_DOMAIN_XML_INACTIVE | bindings().VIR_DOMAIN_XML_SECURE))
        devices, old = _found(domain, element)
        assert old is not None
        place = list(devices).index(old)
        devices.remove(old)
        devices.insert(place, _parsed(element))
        it.connect().defineXML(ET.tostring(domain, encoding="unicode"))
        return 0

    def _detach(self, it: Any, element: str, flags: int) -> int:
        assert flags == bindings().VIR_DOMAIN_AFFECT_LIVE
        self._called("detach", element)
        self.live = it.XMLDesc(0)
        if self.letting_go:
            self._leaving = element
        else:
            self._take_out(element)
        return 0

    def _take_out(self, element: str) -> None:
        domain = _parsed(self.live)
        devices, old = _found(domain, element)
        assert old is not None
        devices.remove(old)
        self.live, self._leaving = ET.tostring(domain, encoding="unicode"), None

    def _attach(self, it: Any, element: str, flags: int) -> int:
        assert flags == bindings().VIR_DOMAIN_AFFECT_LIVE
        self._called("attach", element)
        domain = _parsed(it.XMLDesc(0))
        devices, old = _found(domain, element)
        assert old is None, "it is still there"
        devices.append(_parsed(element))
        self.live = ET.tostring(domain, encoding="unicode")
        return 0


def _method(call: Callable[..., int]) -> Callable[..., int]:
    """A function, which a class gives its instance; a bound method it does not."""

    def method(*given: Any) -> int:
        return call(*given)

    return method


def _parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - libvirt's, or made by the code under test


def _key(element: ET.Element) -> tuple[str | None, int]:
    mac, address = element.find("mac"), element.find("address")
    assert mac is not None
    assert address is not None
    return mac.get("address"), int(address.get("bus", ""), 16)


def _found(domain: ET.Element, element: str) -> tuple[ET.Element, ET.Element | None]:
    """The devices, and the one with the MAC and the place of the element."""
    devices = domain.find("devices")
    assert devices is not None
    wanted = _key(_parsed(element))
    return devices, next((one for one in devices.findall("interface") if _key(one) == wanted), None)


def libvirt_like(*, runs: bool = True, interfaces: tuple[str, ...] = INTERFACES) -> LibvirtLike:
    """The domain, defined anew. The driver keeps it as long as somebody is connected."""
    keeper = Connection(URI, read_only=False)
    xml = _XML.format(uuid=UUID, interfaces="".join(interfaces))

    def define(it: Any) -> None:
        for left in it.listAllDomains(0):  # of a test that failed, whose frames hold libvirt's objects
            if left.UUIDString() == UUID:
                # A transient domain is gone with its end, and one that does not run with its definition.
                is_active = left.isActive()
                _ = left.isPersistent() and left.undefine()
                _ = is_active and left.destroy()
        domain = it.defineXML(xml)
        if runs:
            domain.create()

    keeper.ask(define)
    return LibvirtLike(keeper)

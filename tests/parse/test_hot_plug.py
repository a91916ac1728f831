from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.hot_plug import obstacle

Q35 = (
    "<domain><devices><controller type='usb' index='1' model='none'/>"
    "<controller type='pci' index='0' model='pcie-root'/><controller type='pci' index='1' model='pcie-root-port'/>"
    "<controller type='pci' index='2' model='pcie-root-port'><target chassis='2' hotplug='off'/></controller>"
    "<controller type='pci' index='3' model='pci-root'/>"
    "<interface type='user'/><interface type='bridge'>{}</interface></devices></domain>"
)


def of(address: str, position: int = 1) -> str:
    return obstacle(Q35.format(address), position)


def pci(bus: int, rest: str = "slot='0x00' function='0x0'") -> str:
    return f"<address type='pci' domain='0x0000' bus='{bus:#04x}' {rest}/>"


@pytest.mark.parametrize(
    "address", [pci(1), pci(3, "slot='0x05' function='0x0'"), "<address type='ccw' cssid='0xfe'/>"]
)
def test_what_can_be_exchanged(address: str) -> None:
    assert of(address) == ""


@pytest.mark.parametrize(
    ("address", "word"),
    [
        (pci(0, "slot='0x03' function='0x0'"), "0000:00:03.0 on a pcie-root and not on a pcie-root-port"),
        (pci(2), "switched off"),
        (pci(9), "controller of the bus"),
        (pci(1, "slot='0x00' function='0x1'"), "other functions"),
        (pci(1, "slot='0x00' function='0x0' multifunction='on'"), "other functions"),
        (pci(1, "slot='x'"), "not told"),
        ("<address type='virtio-mmio'/>", "virtio-mmio"),
        ("", "None"),
    ],
)
def test_what_cannot(address: str, word: str) -> None:
    assert word in of(address)


@pytest.mark.parametrize("position", [-1, 2, 10**9])
def test_an_interface_that_is_not_there(position: int) -> None:
    assert "not in the running definition" in of(pci(1), position)


def test_what_is_no_definition_is_refused() -> None:
    with pytest.raises(ParseError):
        obstacle("<domain", 0)

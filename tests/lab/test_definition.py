"""The XML of a domain. Boots nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tests.lab.definition import Definition


def _tree(definition: Definition) -> ET.Element:
    return ET.fromstring(definition.xml("/d", "/c"))  # noqa: S314 - our own text


def test_a_nic_is_what_was_asked() -> None:
    tree = _tree(Definition(event_idx=False, queues=4, vhost=False))
    driver = tree.find("devices/interface/driver")
    assert driver is not None
    assert driver.attrib == {"name": "qemu", "event_idx": "off", "queues": "4"}


def test_one_queue_is_libvirts_default_and_not_written() -> None:
    driver = _tree(Definition(queues=1)).find("devices/interface/driver")
    assert driver is not None
    assert driver.attrib == {"name": "vhost", "event_idx": "on"}


def test_every_nic_has_its_bridge_its_mac_and_its_address() -> None:
    definition = Definition(nics=2)
    tree = _tree(definition)
    nics = tree.findall("devices/interface")
    assert [nic.find("source").attrib for nic in nics] == [{"bridge": "br0"}, {"bridge": "br1"}]  # type: ignore[union-attr]
    assert len({nic.find("mac").attrib["address"] for nic in nics}) == 2  # type: ignore[union-attr]
    line = tree.findtext("os/cmdline")
    assert line is not None
    last = definition.number
    assert f"ip=192.0.2.{last}:::255.255.255.0::eth0:off ip=198.51.100.{last}:::255.255.255.0::eth1:off" in line


@pytest.mark.parametrize("other", [Definition(vcpus=1), Definition(memory=512), Definition(twin=1), Definition(nics=2)])
def test_machines_that_differ_have_different_names(other: Definition) -> None:
    assert other.name != Definition().name
    assert other.booted() == other


@pytest.mark.parametrize("other", [Definition(queues=1), Definition(event_idx=False), Definition(vhost=False)])
def test_what_can_be_exchanged_needs_no_boot_of_its_own(other: Definition) -> None:
    assert other.booted() == Definition()
    assert other.name == Definition().name

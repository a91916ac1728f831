from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests import trees
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.lookup import Lookup
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.plan import Target

ETH0 = Target(bus_address=trees.PCI, virtio="virtio0", mac=trees.MAC, interface="eth0")


@pytest.fixture
def lookup(tmp_path: Path) -> Lookup:
    return Lookup(Sysroot(str(trees.guest(tmp_path / "root", cpus=4, queues=4))))


def test_a_device_is_known_by_its_address_whatever_it_is_called_now(lookup: Lookup) -> None:
    assert lookup.nic(replace(ETH0, interface="lan0")).name == "eth0"


def test_without_a_bus_address_mac_and_name_must_both_be_its_own(lookup: Lookup) -> None:
    by_hand = replace(ETH0, bus_address=None)
    assert lookup.nic(by_hand).bus_address == trees.PCI
    for other in (replace(by_hand, interface="eth1"), replace(by_hand, mac="52:54:00:00:00:01")):
        with pytest.raises(Refusal) as caught:
            lookup.nic(other)
        assert caught.value.why is Why.GONE


def test_another_device_in_the_same_place_is_another_device(lookup: Lookup) -> None:
    with pytest.raises(Refusal, match="there is no interface") as caught:
        lookup.nic(replace(ETH0, mac="52:54:00:00:00:01"))
    assert caught.value.why is Why.GONE


def test_what_was_changed_is_known_by_its_ifindex_under_another_mac_and_name(lookup: Lookup) -> None:
    known = lookup.known(ETH0)
    assert known.ifindex is not None
    assert lookup.nic(replace(known, mac="52:54:00:00:00:01", interface="lan0")).name == "eth0"
    by_hand = replace(known, bus_address=None, mac="52:54:00:00:00:01")
    for other in (replace(known, mac="52:54:00:00:00:01", ifindex=99), by_hand):
        with pytest.raises(Refusal) as caught:
            lookup.nic(other)
        assert caught.value.why is Why.GONE


def test_an_interrupt_is_known_by_its_queue_and_role(lookup: Lookup) -> None:
    number = trees.Guest(cpus=4, queues=4).irq("output.2")
    assert lookup.irq(replace(ETH0, queue=2, queue_role="output", irq=7)).irq == number
    with pytest.raises(Refusal, match=r"no interrupt output\.9") as caught:
        lookup.irq(replace(ETH0, queue=9, queue_role="output"))
    assert caught.value.why is Why.GONE


def test_what_was_found_is_kept_until_it_is_forgotten(lookup: Lookup, tmp_path: Path) -> None:
    assert [line.irq for line in lookup.queue_irqs(lookup.nic(ETH0))] == list(range(31, 39))
    assert str(lookup.online()) == "0-3"
    (tmp_path / "root/sys/devices/system/cpu/online").write_text("0-1\n")
    assert str(lookup.online()) == "0-3"
    lookup.forget()
    assert str(lookup.online()) == "0-1"

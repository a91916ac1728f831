from __future__ import annotations

import itertools
import shlex
from dataclasses import replace
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

import pytest

from tests import make_hypervisor as make
from tests.plan import build, hypervisors
from tests.plan.hypervisors import interface, on, stored, web1
from tuneagent.model.plan import TunableKind

MAC = make.MAC


def written(line: str | None, *connection: str) -> Element:
    """The element that a pasted line gives to virsh, as libvirt would read it."""
    assert line is not None
    words = shlex.split(line)
    assert words[:2] == ["printf", "%s"]
    assert words[3:] == ["|", "virsh", *connection, "update-device", make.UUID, "/dev/stdin", "--config"]
    return hypervisors.parsed(words[2])


def driver(element: Element) -> dict[str, str]:
    found = element.find("driver")
    assert found is not None
    return dict(found.attrib)


def test_the_change_is_one_line_there_and_one_back() -> None:
    change = hypervisors.change(on(web1(interface(event_idx=False)), "off"))
    assert change.kind is TunableKind.DOMAIN_INTERFACE_DRIVER
    assert (change.old, change.new) == ("off", "on")
    assert driver(written(change.do)) == {"queues": "2", "event_idx": "on"}
    assert driver(written(change.undo)) == {"queues": "2", "event_idx": "off"}
    assert "-   <driver queues='2' event_idx='off'/>" in change.diff
    assert "+   <driver queues='2' event_idx='on'/>" in change.diff
    assert change.where.startswith(f"libvirt domain {make.UUID}: event_idx of <driver>")


def test_it_is_found_again_by_uuid_mac_and_address() -> None:
    target = hypervisors.change(on(web1(interface(event_idx=False)), "off")).target
    assert (target.domain_uuid, target.mac, target.address) == (make.UUID, MAC, "0000:00:03.0")
    assert (target.alias, target.position, target.interface, target.parameter) == ("net0", 0, "vnet0", "event_idx")


def test_when_it_takes_effect_is_said_and_how_at_once() -> None:
    notes = "\n".join(hypervisors.only(on(web1(interface(event_idx=False)), "off")).notes)
    assert "cold start" in notes
    assert f"virsh detach-device {make.UUID} /dev/stdin --live" in notes
    assert f"virsh attach-device {make.UUID} /dev/stdin --live" in notes
    assert "never the NIC you came in by" in notes


def test_hostile_names_reach_no_shell() -> None:
    name = "a'; reboot #\" $(halt)"
    one = interface(event_idx=False, source="br'0;x", xml=None)
    one = replace(one, xml=one.xml.replace('bridge="br0"', 'bridge="br\'0;`x`$(y)"'))
    domain = web1(one, name=name)
    answer = on(domain, "off", domain.subject_of(one))
    change = hypervisors.change(answer)
    source = written(change.do).find("source")
    assert source is not None
    assert source.get("bridge") == "br'0;`x`$(y)"
    assert "reboot" not in change.do
    assert shlex.split(hypervisors.only(answer).apply_command)[-4:] == ["--domain", make.UUID, "--on", "vnet0"]


def test_another_connection_is_named() -> None:
    change = hypervisors.change(on(web1(interface(event_idx=False), uri="qemu:///session"), "off"))
    assert driver(written(change.do, "-c", "qemu:///session"))["event_idx"] == "on"
    assert change.target.uri == "qemu:///session"
    assert hypervisors.change(on(web1(interface(event_idx=False)), "off")).target.uri is None


def test_what_is_stored_already_only_waits() -> None:
    domain = web1(interface(event_idx=False), pending=stored(interface(event_idx=True, target=None)))
    assert "already stored (event_idx='on')" in hypervisors.reason(on(domain, "off"))
    assert "next cold start" in hypervisors.reason(on(domain, "off"))


def test_the_stored_definition_is_what_is_changed() -> None:
    other = interface(event_idx=False, queues=6, position=1)
    first = interface(mac="52:54:00:00:00:99", target=None)
    domain = web1(interface(event_idx=False), pending=stored(first, other))
    change = hypervisors.change(on(domain, "off"))
    assert driver(written(change.do)) == {"queues": "6", "event_idx": "on"}
    assert change.target.position == 1


def test_an_interface_of_this_run_only_is_left() -> None:
    domain = web1(interface(event_idx=False), pending=stored(interface(mac="52:54:00:00:00:99")))
    assert "plugged in for this run" in hypervisors.reason(on(domain, "off"))


def test_where_macs_are_shared_the_address_finds_it() -> None:
    twin = interface(event_idx=None, position=1, target="vnet1", address="0000:00:04.0")
    wanted = interface(event_idx=False)
    pending = stored(replace(twin, position=0), replace(wanted, position=1, queues=5))
    change = hypervisors.change(on(web1(wanted, twin, pending=pending), "off"))
    assert change.target.position == 1
    assert "at 0000:00:03.0" in change.where


@pytest.mark.parametrize("xml", ["", "no element", '<!DOCTYPE x><interface type="bridge"/>'])
def test_without_its_element_another_tool_is_named(xml: str) -> None:
    answer = on(web1(interface(xml, event_idx=False)), "off")
    change = hypervisors.change(answer)
    option = "xpath1.set=./driver/@event_idx,xpath1.value="
    assert shlex.split(change.do) == ["virt-xml", make.UUID, "--edit", f"mac={MAC}", "--network", f"{option}on"]
    assert change.undo == change.do.removesuffix("on") + "off"
    assert change.diff == ()
    assert "virt-xml" in "\n".join(hypervisors.only(answer).notes)


def test_without_its_element_a_shared_mac_is_found_by_place() -> None:
    twin = interface("", position=1, target="vnet1", event_idx=False)
    answer = on(web1(interface(), twin), "off", "domain web1 vnet1")
    assert shlex.split(hypervisors.change(answer).do)[2:4] == ["--edit", "2"]


def test_several_changes_of_one_element_build_on_one_another() -> None:
    domain = web1(interface(event_idx=False, driver_name="qemu", queues=1))
    answer = hypervisors.of(make.host_view(domain), asked=("event", "vhost", "queues"))
    changes = [change for advice in answer.advice for change in advice.changes]
    assert [change.target.parameter for change in changes] == ["event_idx", "queues", "name"]
    assert driver(written(changes[-1].do)) == {"name": "vhost", "event_idx": "on", "queues": "2"}
    # Done in order and undone in the opposite one, each line finds what it is about.
    for earlier, later in itertools.pairwise(changes):
        assert ET.tostring(written(later.undo)) == ET.tostring(written(earlier.do))
    assert "with what is advised for it before: event_idx='on'" in "\n".join(answer.advice[1].notes)


def test_an_unknown_qemu_has_no_definition() -> None:
    domain = make.domain_view(key="pid 77", name="pid 77", definition=None)
    assert "libvirt tells of no such domain" in hypervisors.reason(on(domain, "off", domain.subject))


def test_a_uuid_that_is_none_is_not_pasted() -> None:
    assert "UUID" in hypervisors.reason(on(web1(interface(event_idx=False), key="x; reboot"), "off"))


def test_what_is_no_virtio_is_left() -> None:
    answer = on(web1(interface(model="e1000e", event_idx=False)), "off")
    assert "no virtio-net" in hypervisors.reason(answer)


def test_inside_a_guest_there_are_no_domains() -> None:
    answer = hypervisors.of(make.host_view(hypervisor=make.hypervisor_view()), build.finding("absent", "eth7"))
    assert "no running virtual machine" in hypervisors.reason(answer)

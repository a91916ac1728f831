from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests import make_hypervisor as make
from tests.plan import hypervisors
from tuneagent.parse.interface_xml import LARGEST, Edit, driver_attribute, edit

NETWORK = (
    '<interface type="bridge"><mac address="52:54:00:aa:bb:cc"/>'
    '<source network="lan" portid="1c2d" bridge="virbr3"/><target dev="vnet7"/><model type="virtio"/>'
    '<driver name="vhost" event_idx="off" queues="2"><host csum="off"/></driver><alias name="net1"/>'
    '<address type="pci" domain="0x0000" bus="0x02" slot="0x00" function="0x0"/></interface>'
)


def edited(xml: str, **driver: str) -> Edit:
    made = edit(xml, driver)
    assert made is not None
    return made


def test_only_the_driver_differs_and_the_rest_is_as_it_is_stored() -> None:
    made = edited(NETWORK, event_idx="on")
    old, new = hypervisors.parsed(made.old), hypervisors.parsed(made.new)
    assert new.attrib == {"type": "network"}
    assert [child.tag for child in new] == ["mac", "source", "model", "driver", "address"]
    assert new[1].attrib == {"network": "lan"}
    assert new[3].attrib == {"name": "vhost", "event_idx": "on", "queues": "2"}
    assert ET.tostring(new[3][0]) == b'<host csum="off" />'
    new[3].set("event_idx", "off")
    assert ET.tostring(old) == ET.tostring(new)


def test_the_difference_names_the_interface_and_the_lines() -> None:
    assert edited(NETWORK, event_idx="on").diff == (
        "  <interface type='network'>",
        "    <mac address='52:54:00:aa:bb:cc'/>",
        "-   <driver name='vhost' event_idx='off' queues='2'>",
        "+   <driver name='vhost' event_idx='on' queues='2'>",
        "    <address type='pci' domain='0x0000' bus='0x02' slot='0x00' function='0x0'/>",
        "  </interface>",
    )


def test_a_driver_that_was_not_there_comes_and_goes() -> None:
    made = edited('<interface type="user"><model type="virtio"/></interface>', queues="4")
    assert made.old == '<interface type="user"><model type="virtio"/></interface>'
    assert made.new == '<interface type="user"><model type="virtio"/><driver queues="4"/></interface>'
    assert made.diff == ("  <interface type='user'>", "+   <driver queues='4'/>", "  </interface>")


@pytest.mark.parametrize(
    "before",
    [
        '<interface type="user"><model type="virtio"/></interface>',
        '<interface type="user"><driver name="vhost"/></interface>',
        '<interface type="user"><driver><host csum="off"/></driver></interface>',
    ],
)
def test_what_came_goes_again_and_leaves_nothing(before: str) -> None:
    with_it = edit(before, {"queues": "4"})
    assert with_it is not None
    gone = edit(with_it.new, {"queues": None})
    assert gone is not None
    assert gone.new == before
    assert [line for line in gone.diff if line.startswith("-")] == [
        line.replace("+", "-") for line in with_it.diff if line.startswith("+")
    ]


def test_an_attribute_as_it_is_written() -> None:
    assert driver_attribute(NETWORK, "event_idx") == "off"
    assert driver_attribute(NETWORK, "rx_queue_size") == ""
    assert driver_attribute('<interface type="user"/>', "queues") == ""
    assert driver_attribute("<disk/>", "queues") is None


def test_names_that_a_person_chose_stay() -> None:
    made = edited(
        '<interface type="bridge"><source bridge="br0"/><target dev="web-lan"/><alias name="ua-web"/></interface>',
        queues="4",
    )
    assert 'dev="web-lan"' in made.old
    assert 'name="ua-web"' in made.old
    assert 'bridge="br0"' in made.old


@pytest.mark.parametrize("generated", ["vnet12", "macvtap0", "macvlan3"])
def test_names_that_libvirt_chose_go(generated: str) -> None:
    kept = edited(f'<interface type="direct"><target dev="{generated}" managed="no"/></interface>', queues="4")
    assert kept.old == '<interface type="direct"><target managed="no"/></interface>'


def test_an_edit_of_an_edit_is_the_edit_of_both() -> None:
    first = edited(NETWORK, event_idx="on")
    assert edited(first.new, queues="8").new == edited(NETWORK, event_idx="on", queues="8").new
    assert edited(first.new, queues="8").old == first.new


def test_what_is_not_ascii_is_written_as_references() -> None:
    xml = '<interface type="bridge"><source bridge="b\u202er\u00fc \'x\'"/></interface>'
    made = edited(xml, queues="4")
    assert made.old.isascii()
    source = hypervisors.parsed(made.old).find("source")
    assert source is not None
    assert source.get("bridge") == "b\u202er\u00fc 'x'"


def test_text_and_references_are_written_as_an_authority_reads_them() -> None:
    xml = "<interface type='a\"&apos;&amp;&lt;&gt;&#9;&#10;&#13;'><b> c &lt;&amp;&gt; <d>\"'</d> e </b></interface>"
    made = edited(xml, queues="4")
    assert "\n" not in made.old
    assert ET.canonicalize(made.old) == ET.canonicalize(xml)


def test_the_difference_can_be_read_back_too() -> None:
    tag = edited('<interface type="a\'&lt;&#10;\u202e"/>', queues="4").diff[0]
    assert tag.isprintable()
    assert hypervisors.parsed(f"{tag}</interface>").get("type") == "a'<\n\u202e"


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "no xml",
        "<interface",
        "<disk/>",
        '<!DOCTYPE a [<!ENTITY b "c">]><interface type="&b;"/>',
        "<interface>" + "<a>" * 4000 + "</a>" * 4000 + "</interface>",
        f'<interface type="{"x" * LARGEST}"/>',
        '<interface type="a\x7fb"/>',
        "<interface>\x00</interface>",
        '<interface xmlns="http://example.org"/>',
        '<interface xmlns:a="http://example.org"><a:b/></interface>',
        '<interface xmlns:a="http://example.org" a:b="c"/>',
    ],
)
def test_what_is_no_interface_is_refused(xml: str) -> None:
    assert edit(xml, {"queues": "4"}) is None


def test_the_element_of_the_test_machine_is_taken() -> None:
    assert edited(make.domain_interface().xml, name="vhost").old.startswith('<interface type="bridge"><mac')

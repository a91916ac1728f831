from __future__ import annotations

from dataclasses import asdict

import pytest

from tuneagent.model.domain import Backend, DomainInterface
from tuneagent.model.errors import ParseError
from tuneagent.parse.domain_interface import MAX_XML, parse
from tuneagent.parse.xml_text import root

FULL = """<interface type='network'>
  <mac address='52:54:00:AB:cd:01'/>
  <source network='default' portgroup='web' portid='7c1e' bridge='virbr0'/>
  <target dev='vnet5'/>
  <model type='virtio'/>
  <driver name='vhost' txmode='iothread' ioeventfd='off' event_idx='off' queues='6' rx_queue_size='512'
          tx_queue_size='256' packed='on'>
    <host gso='off'/>
  </driver>
  <link state='down'/>
  <teaming type='persistent'/>
  <alias name='net2'/>
  <address type='pci' domain='0x0001' bus='0x1a' slot='0x03' function='0x2'/>
</interface>"""


def read(text: str, position: int = 0) -> tuple[DomainInterface | None, list[str]]:
    faults: list[ParseError] = []
    found = parse(root(text), position, faults)
    return found, [fault.detail for fault in faults]


def only(kind: str, inside: str = "<model type='virtio'/>") -> DomainInterface:
    found, faults = read(f"<interface type='{kind}'>{inside}</interface>")
    assert found is not None
    assert not faults
    return found


def test_reads_everything_that_is_written() -> None:
    found, faults = read(FULL, 3)
    assert not faults
    assert found == DomainInterface(
        position=3,
        type="network",
        mac="52:54:00:ab:cd:01",
        model="virtio",
        source="default",
        target="vnet5",
        alias="net2",
        address="0001:1a:03.2",
        driver_name="vhost",
        queues=6,
        event_idx=False,
        ioeventfd=False,
        packed=True,
        txmode="iothread",
        rx_queue_size=512,
        tx_queue_size=256,
        teaming="persistent",
        link_up=False,
        xml="<interface type='network'><mac address='52:54:00:AB:cd:01'/>"
        "<source network='default' portgroup='web' portid='7c1e' bridge='virbr0'/><target dev='vnet5'/>"
        "<model type='virtio'/><driver name='vhost' txmode='iothread' ioeventfd='off' event_idx='off' queues='6' "
        "rx_queue_size='512' tx_queue_size='256' packed='on'><host gso='off'/></driver><link state='down'/>"
        "<teaming type='persistent'/><alias name='net2'/>"
        "<address type='pci' domain='0x0001' bus='0x1a' slot='0x03' function='0x2'/></interface>",
    )


def test_what_is_not_written_is_none() -> None:
    found = only("ethernet", "")
    written = {"position": 0, "type": "ethernet", "xml": "<interface type='ethernet'/>"}
    assert asdict(found) == dict.fromkeys(asdict(found)) | written


@pytest.mark.parametrize(
    ("kind", "source", "joined", "backend"),
    [
        ("network", "<source network='lan'/>", "lan", Backend.VHOST),
        ("bridge", "<source network='lan' bridge='br1'/>", "br1", Backend.VHOST),
        ("ethernet", "", None, Backend.VHOST),
        ("direct", "<source dev='eth7' mode='bridge'/>", "eth7", Backend.VHOST),
        ("user", "<backend type='passt'/><source dev='eth3'/>", "eth3", Backend.QEMU),
        ("vhostuser", "<source type='unix' path='/run/vu0.sock' mode='client'/>", "/run/vu0.sock", Backend.VHOST_USER),
        ("vdpa", "<source dev='/dev/vhost-vdpa-2'/>", "/dev/vhost-vdpa-2", Backend.VDPA),
        ("server", "<source address='10.0.0.1' port='5558'/>", "10.0.0.1:5558", Backend.QEMU),
        ("server", "<source port='5558'/>", ":5558", Backend.QEMU),
        ("client", "<source address='10.0.0.2' port='5559'/>", "10.0.0.2:5559", Backend.QEMU),
        ("mcast", "<source address='230.0.0.1'/>", "230.0.0.1", Backend.QEMU),
        ("udp", "<source address='10.0.0.3' port='15'><local port='16'/></source>", "10.0.0.3:15", Backend.QEMU),
        ("internal", "<source name='inner'/>", "inner", Backend.QEMU),
        ("null", "<source x='y'/>", None, Backend.QEMU),
        ("later", "<source dev='a'/>", None, Backend.QEMU),
        ("hostdev", "<source><address type='pci' bus='3' slot='0x07' function='0x1'/></source>", "0000:03:07.1",
         Backend.HOSTDEV),
        ("hostdev", "<source><address type='usb' bus='3' device='1'/></source>", None, Backend.HOSTDEV),
        ("hostdev", "<driver name='vfio'/><source/>", None, Backend.HOSTDEV),
    ],
)  # fmt: skip
def test_each_type_is_joined_to_its_own(kind: str, source: str, joined: str | None, backend: Backend) -> None:
    found = only(kind, f"<model type='virtio'/>{source}")
    assert (found.type, found.source, found.backend) == (kind, joined, backend)


@pytest.mark.parametrize(
    ("driver", "backend", "pairs"),
    [
        ("", Backend.VHOST, 1),
        ("<driver/>", Backend.VHOST, 1),
        ("<driver queues='3'/>", Backend.VHOST, 3),
        ("<driver name='vhost' queues='2'/>", Backend.VHOST, 2),
        ("<driver name='qemu'/>", Backend.QEMU, 1),
    ],
)
def test_a_driver_may_lack_its_name_or_itself(driver: str, backend: Backend, pairs: int) -> None:
    for model in ("virtio", "virtio-transitional", "virtio-non-transitional"):
        found = only("bridge", f"<model type='{model}'/>{driver}")
        assert (found.is_virtio, found.backend, found.queue_pairs, found.event_index) == (True, backend, pairs, True)


@pytest.mark.parametrize("model", ["", "<model type='e1000e'/>", "<model type='rtl8139'/>"])
def test_other_models_are_emulated(model: str) -> None:
    found = only("bridge", model)
    assert (found.is_virtio, found.backend, found.event_index) == (False, Backend.EMULATED, None)


@pytest.mark.parametrize(
    ("address", "read_as"),
    [
        ("type='pci' domain='0x10000' bus='0xff' slot='0x1f' function='7'", "10000:ff:1f.7"),
        ("type='pci' bus='10'", "0000:0a:00.0"),
        ("type='pci'", None),
        ("type='ccw' cssid='0xfe' ssid='0x0' devno='0x0001'", None),
        ("type='virtio-mmio'", None),
        ("type='spapr-vio' reg='0x1000'", None),
    ],
)
def test_only_pci_addresses_are_read(address: str, read_as: str | None) -> None:
    assert only("bridge", f"<address {address}/>").address == read_as


@pytest.mark.parametrize(
    ("inside", "field", "fault"),
    [
        ("<driver queues='many'/>", "queues", "interface 4: <driver> queues: 'many' is not a number"),
        ("<driver queues='-2'/>", "queues", "interface 4: <driver> queues: '-2' is not a number"),
        ("<driver queues='65536'/>", "queues", "interface 4: <driver> queues: 65536 is above 65535"),
        ("<driver event_idx='1'/>", "event_idx", "interface 4: <driver> event_idx: '1' is neither on nor off"),
        ("<mac address='52:54:00:00:00'/>", "mac", "interface 4: <mac> address: '52:54:00:00:00' is no MAC address"),
        ("<address bus='0x100'/>", "address", "interface 4: <address> bus: '0x100' is not a number of 0 to 0xff"),
        ("<address slot='x'/>", "address", "interface 4: <address> slot: 'x' is not a number of 0 to 0x1f"),
        ("<link state='sideways'/>", "link_up", "interface 4: <link> state: 'sideways' is neither on nor off"),
        ("<target dev='a&#x202e;b'/>", "target",
         "interface 4: <target> dev: holds the unprintable character '\\u202e'"),
    ],
)  # fmt: skip
def test_a_wrong_value_costs_itself_only(inside: str, field: str, fault: str) -> None:
    found, faults = read(f"<interface type='bridge'><model type='virtio'/>{inside}</interface>", 4)
    assert faults == [fault]
    assert found is not None
    assert getattr(found, field) is None
    assert found.model == "virtio"


def test_without_a_type_there_is_no_interface() -> None:
    found, faults = read("<interface><model type='virtio'/></interface>", 2)
    assert found is None
    assert faults == ["interface 2: <interface> type: is not told, so the interface is left out"]


def test_the_first_of_a_kind_counts_and_inner_ones_do_not() -> None:
    inside = "<driver queues='2'/><driver queues='3'/><backenddomain><mac address='x'/></backenddomain>"
    found = only("bridge", inside)
    assert (found.queues, found.mac) == (2, None)


def test_a_huge_interface_has_no_line() -> None:
    assert not only("bridge", f"<script path='{'a' * MAX_XML}'/>").xml

from __future__ import annotations

import pytest

from tuneagent.model.domain import Domain
from tuneagent.parse.domain_xml import parse
from tuneagent.parse.stored_definition import differs

NIC = "<mac address='52:54:00:00:00:0{}'/><source bridge='br0'/><model type='virtio'/>{}"


def domain(*interfaces: str, inside: str = "") -> Domain:
    text = f"<domain type='kvm'><name>a</name>{inside}<devices>{''.join(interfaces)}</devices></domain>"
    return parse(text, "qemu:///system", "running").domain


def nic(more: str = "", number: int = 1, kind: str = "bridge") -> str:
    return f"<interface type='{kind}'>{NIC.format(number, more)}</interface>"


def test_what_only_a_running_domain_has_is_no_difference() -> None:
    run_time = "<target dev='vnet3'/><alias name='net0'/><address type='pci' bus='0x01'/>"
    live = domain(nic(run_time), inside="<memory>9</memory><currentMemory>7</currentMemory>")
    assert not differs(live, domain(nic(), inside="<memory>9</memory>"))


@pytest.mark.parametrize(
    "spelt",
    [
        "<driver name='vhost'/>",
        "<driver queues='1' event_idx='on' ioeventfd='on' packed='off' txmode='iothread'/>",
        "<link state='up'/>",
    ],
)
def test_a_default_that_is_spelt_is_no_difference(spelt: str) -> None:
    assert not differs(domain(nic()), domain(nic(spelt)))


@pytest.mark.parametrize(
    "changed",
    [
        nic("<driver queues='4'/>"),
        nic("<driver event_idx='off'/>"),
        nic("<driver name='qemu'/>"),
        nic("<driver ioeventfd='off'/>"),
        nic("<driver packed='on'/>"),
        nic("<driver txmode='timer'/>"),
        nic("<driver rx_queue_size='512'/>"),
        nic("<driver tx_queue_size='512'/>"),
        nic("<link state='down'/>"),
        nic("<teaming type='persistent'/>"),
        nic(number=2),
        nic(kind="direct"),
        nic().replace("br0", "br1"),
        nic().replace("'virtio'", "'e1000e'"),
        nic() + nic(number=2),
        nic() + nic(),
        "",
    ],
)
def test_another_interface_is_a_difference(changed: str) -> None:
    assert differs(domain(nic()), domain(changed))
    assert differs(domain(changed), domain(nic()))


@pytest.mark.parametrize(
    "inside",
    [
        "<vcpu>4</vcpu>",
        "<vcpu cpuset='3'>2</vcpu>",
        "<vcpu current='1'>2</vcpu>",
        "<vcpu>2</vcpu><cputune><vcpupin vcpu='0' cpuset='3'/></cputune>",
        "<vcpu>2</vcpu><cputune><emulatorpin cpuset='3'/></cputune>",
        "<vcpu>2</vcpu><numatune><memory nodeset='1'/></numatune>",
        "<vcpu>2</vcpu><memoryBacking><hugepages/></memoryBacking>",
        "<vcpu>2</vcpu><cpu><numa><cell/></numa></cpu>",
    ],
)
def test_other_vcpus_pins_and_memory_are_a_difference(inside: str) -> None:
    live = domain(nic(), inside="<vcpu>2</vcpu>")
    assert not differs(live, domain(nic(), inside="<vcpu>2</vcpu>"))
    assert differs(live, domain(nic(), inside=inside))


def test_the_order_of_interfaces_is_no_difference() -> None:
    assert not differs(domain(nic(), nic(number=2)), domain(nic(number=2), nic()))


@pytest.mark.parametrize("kind", ["network", "bridge", "direct"])
def test_a_network_becomes_something_else_at_run_time(kind: str) -> None:
    stored = nic().replace("type='bridge'", "type='network'").replace("bridge='br0'", "network='lan'")
    live = nic(kind=kind).replace("bridge='br0'", "network='lan' bridge='br7' dev='eth7'")
    assert not differs(domain(live), domain(stored))
    assert differs(domain(live), domain(stored.replace("</interface>", "<driver queues='2'/></interface>")))


def test_a_network_of_passed_through_functions_is_no_difference() -> None:
    stored = nic().replace("type='bridge'", "type='network'").replace("bridge='br0'", "network='pool'")
    live = "<interface type='hostdev'><mac address='52:54:00:00:00:01'/><driver name='vfio'/></interface>"
    assert not differs(domain(live), domain(stored))


def test_a_pair_with_one_mac_is_kept_apart() -> None:
    function = "<interface type='hostdev'><mac address='52:54:00:00:00:01'/></interface>"
    assert not differs(domain(nic(), function), domain(function, nic()))
    assert differs(domain(nic(), function), domain(nic(), nic()))

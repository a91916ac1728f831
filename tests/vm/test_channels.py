"""Channels, rings and coalescing of a real virtio_net with four queues, set through the actuators."""

from __future__ import annotations

import compileall
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm.machine import Machine, booted, quoted
from tests.vm.traffic import interrupts

pytestmark = [pytest.mark.vm, pytest.mark.timeout(400)]
REPOSITORY = Path(__file__).parents[2]
QUEUES = "/sys/class/net/eth0/queues"
# A program needs every page of a packet as it is, without offloads that put several together.
PREPARE = "ethtool -K eth0 gro off lro off rx off 2>/dev/null; true"
Told = dict[str, Any]


def maps(machine: Machine) -> dict[str, str]:
    """Affinity of the queues' interrupts, XPS, RPS and flow tables as the shell reads them."""
    irqs = " ".join(f"/proc/irq/{irq}/smp_affinity_list" for irq in sorted(interrupts(machine)))
    read = machine.run(f"grep . {irqs} {QUEUES}/tx-*/xps_cpus {QUEUES}/rx-*/rps_cpus {QUEUES}/rx-*/rps_flow_cnt")
    return dict(line.split(":", 1) for line in read.checked().splitlines())


def by_hand(machine: Machine) -> dict[str, str]:
    """Gives every queue a home that virtio_net would never choose, and tells what is read then."""
    lines = [
        f"echo {(int(name[-1]) + 1 + name.startswith('output')) % 4} > /proc/irq/{irq}/smp_affinity_list"
        for irq, (name, _) in interrupts(machine).items()
    ]
    for queue in range(4):
        lines.append(f"echo {1 << (queue + 3) % 4:x} > {QUEUES}/tx-{queue}/xps_cpus")
        lines.append(f"echo {(1 << queue) | 8:x} > {QUEUES}/rx-{queue}/rps_cpus")
        lines.append(f"echo {256 << queue} > {QUEUES}/rx-{queue}/rps_flow_cnt")
    machine.run("set -e\n" + "\n".join(lines)).checked()
    return maps(machine)


@pytest.fixture(scope="module", params=["6.1", "6.12"])
def machine(vm_tier: None, request: pytest.FixtureRequest) -> Iterator[Machine]:  # noqa: ARG001 - must come first
    """The guest under an older driver, which has no adaptive coalescing, and under one that has."""
    with booted(kernel=request.param) as guest:
        yield guest


@pytest.fixture(scope="module")
def told(machine: Machine) -> Told:
    """What came of it, with the maps before and after."""
    compileall.compile_dir(REPOSITORY / "tuneagent", quiet=2)
    before = by_hand(machine)
    machine.run(PREPARE)
    inside = machine.run(f"cd {quoted(REPOSITORY)} && {quoted(sys.executable, '-m', 'tests.vm.setting_queues')}")
    said: Told = json.loads(inside.checked())
    return said | {"before": before, "after": maps(machine)}


def test_the_number_of_queues_goes_down_and_up_again(machine: Machine, told: Told) -> None:
    channels = told["channels"]
    assert (channels["old"], channels["fewer"]["read"], channels["back"]["read"]) == ("4", "2", "4")
    assert channels["fewer"]["effect"] == channels["back"]["effect"] == "verified"
    assert channels["fewer"]["detail"] == "2 receive and 2 transmit queues are in use"
    assert re.findall(r"Combined:\s+(\d+)", machine.run("ethtool -l eth0").checked()) == ["4", "4"]


def test_what_the_driver_rewrites_is_named_and_put_back(told: Told) -> None:
    assert len(told["before"]) == 8 + 4 + 4 + 4
    assert told["after"] == told["before"]
    lost = set(told["channels"]["lost"])
    assert {f"{QUEUES}/tx-0/xps_cpus", f"{QUEUES}/rx-3/rps_cpus", f"{QUEUES}/rx-3/rps_flow_cnt"} <= lost
    assert any(where.startswith("/proc/irq/") for where in lost)
    assert lost <= set(told["channels"]["kept"])


def test_an_xdp_program_is_a_fact_and_leaves_the_queues(told: Told) -> None:
    assert (told["xdp"].get("why"), told["xdp"]["left"]) == ("fact", "4"), told["xdp"]
    assert told["xdp"]["detail"].startswith("ethtool channels of eth0: combined: Invalid argument; an XDP program")


def test_a_device_that_holds_no_interrupt_back_is_a_fact(told: Told) -> None:
    assert told["usecs"]["why"] == "fact"
    assert "no VIRTIO_NET_F_NOTF_COAL, feature bit 53" in told["usecs"]["detail"]
    assert told["adaptive"]["why"] == "fact"


def test_how_sent_packets_are_taken_back_is_not_switched_while_the_interface_is_up(told: Told) -> None:
    assert told["frames"]["why"] == "fact"
    assert "while the interface is up" in told["frames"]["detail"]


def test_rings_are_set_and_given_back_or_cannot_be(told: Told) -> None:
    rings = told["rings"]
    if "why" in rings:
        assert rings["why"] == "fact", rings
    else:
        assert (rings["new"], rings["back"]) == ("rx=64 tx=128", rings["old"])

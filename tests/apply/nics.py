"""Machines with NICs for tests of what sets them: pairs of veth and a tap of this kernel, and virtio in trees."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tests.apply.namespace import private, sh
from tests.trees import MAC, Guest
from tuneagent.apply.actuator import Actuator, Refusal
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.machine.live import Live
from tuneagent.machine.sysroot import Sysroot
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.nic import Coalesce, Rings
from tuneagent.model.plan import Target

REPOSITORY = Path(__file__).parents[2]
PYTHON = sys.executable
TAP_MAC = "02:00:00:00:00:07"
VETH_MAC = "02:00:00:00:00:09"
VETH = Target(interface="veth1", mac=VETH_MAC)
TAP = Target(interface="tap7", mac=TAP_MAC)
VIRTIO = Target(bus_address="0000:00:03.0", virtio="virtio0", mac=MAC, interface="eth0")


@contextmanager
def veth() -> Iterator[Machine]:
    """veth1 with at most 4 receive and 3 transmit queues, in a network of its own."""
    with private():
        sh("ip link add veth0 numtxqueues 4 numrxqueues 3 type veth peer name veth1 numtxqueues 3 numrxqueues 4")
        sh(f"ip link set veth1 address {VETH_MAC}; ip link set veth0 up; ip link set veth1 up")
        yield live()


@contextmanager
def tap() -> Iterator[Machine]:
    """tap7, whose driver can collect frames before it hands them over (drivers/net/tun.c tun_set_coalesce())."""
    with private():
        sh(f"ip tuntap add tap7 mode tap; ip link set tap7 address {TAP_MAC}")
        yield live()


def live() -> Machine:
    """This machine, as the network namespace of this thread shows it."""
    source = Live(locks=False)
    return Machine(source, WritableRoot(), Lookup(source))


def tree(directory: Path, rings: Rings | None = None, coalesce: Coalesce | None = None, **guest: Any) -> Machine:
    """A guest with one virtio NIC as a tree of files; ``guest`` as tests.trees.Guest takes it."""
    root = replace(Guest(), **guest).write(directory / "root")
    said = {"rings": rings, "coalesce": coalesce}
    captured = root / "captured/ethtool.json"
    if any(said.values()):
        value = json.loads(captured.read_text())
        value["eth0"] |= {key: asdict(section) for key, section in said.items() if section is not None}
        captured.write_text(json.dumps(value))
    source = Sysroot(str(root))
    return Machine(source, WritableRoot(str(root)), Lookup(source))


def refusal(actuator: Actuator, target: Target, value: str | None = None) -> Refusal:
    """What is said when the target is looked up, or when a value is written."""
    try:
        place = actuator.locate(actuator.kinds[0], target)
        if value is not None:
            actuator.write(place, value)
    except Refusal as refused:
        return refused
    raise AssertionError("nothing was refused")

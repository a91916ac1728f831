from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.apply import nics
from tuneagent.apply.actuator import Why
from tuneagent.apply.machine import Machine
from tuneagent.apply.rings import RingSizes
from tuneagent.machine.netlink import NetlinkError
from tuneagent.model.nic import Rings
from tuneagent.model.plan import Target, TunableKind

KIND = TunableKind.RINGS
BOTH = replace(nics.VIRTIO, parameter="rx tx")
RECEIVE = replace(nics.VIRTIO, parameter="rx")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return nics.tree(tmp_path, rings=Rings(rx=256, rx_max=1024, tx=128, tx_max=512))


def test_a_target_names_what_is_read(machine: Machine) -> None:
    actuator = RingSizes(machine)
    both, receive = (actuator.locate(KIND, target) for target in (BOTH, RECEIVE))
    assert (both.where, actuator.read(both)) == ("ethtool rings of eth0: rx, tx", "rx=256 tx=128")
    assert (receive.where, actuator.read(receive)) == ("ethtool rings of eth0: rx", "rx=256")
    assert actuator.by_hand(both, "tx=512 rx=1024") == "ethtool -G eth0 rx 1024 tx 512"
    assert actuator.same("tx=128 rx=256", "rx=256 tx=128")
    assert not actuator.same("rx=256", "rx=256 tx=128")
    assert actuator.rewrites(both) == ()


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("rx=1024 tx=512", None),
        ("tx=1 rx=1", None),
        ("rx=1025 tx=512", "rx=1025, where the device has from 1 to 1024"),
        ("rx=1024 tx=513", "tx=513, where the device has from 1 to 512"),
        ("rx=0 tx=1", "from 1 to 1024"),
        ("rx=1024", "sets rx, where the target names rx, tx"),
        ("rx-mini=1 rx=5", "where one of rx, tx is set"),
    ],
)
def test_what_may_be_set(machine: Machine, value: str, wrong: str | None) -> None:
    actuator = RingSizes(machine)
    said = actuator.check(actuator.locate(KIND, BOTH), value)
    assert (said is None) is (wrong is None)
    assert (wrong or "") in (said or "")


@pytest.mark.parametrize("parameter", [None, "", "rx tx tx", "rx mini", "rx\ntx", "RX", "rx " * 1000])
def test_a_target_that_names_no_ring(machine: Machine, parameter: str | None) -> None:
    refused = nics.refusal(RingSizes(machine), replace(nics.VIRTIO, parameter=parameter))
    assert (refused.why, refused.detail) == (
        Why.FAILED,
        "rings of eth0: the target names none or not only of rx, tx",
    )


def test_a_driver_without_one_of_them(tmp_path: Path) -> None:
    refused = nics.refusal(RingSizes(nics.tree(tmp_path, rings=Rings(rx=256, rx_max=256))), BOTH)
    assert (refused.why, refused.detail) == (Why.FACT, "eth0: the driver has no tx")


@pytest.mark.parametrize(
    ("number", "why", "because"),
    [
        (errno.ENOENT, Why.FACT, "cannot reset one queue"),
        (errno.EOPNOTSUPP, Why.FACT, "supported"),
        (errno.EBUSY, Why.LATER, "busy"),
        (errno.EINVAL, Why.FAILED, "Invalid"),
        (errno.E2BIG, Why.FAILED, "long"),
    ],
)
def test_what_an_errno_means(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, number: int, why: Why, because: str
) -> None:
    def refuse(*_: object) -> None:
        raise NetlinkError(number, os.strerror(number))

    monkeypatch.setattr("tuneagent.apply.ethtool_settings.set_", refuse)
    refused = nics.refusal(RingSizes(machine), RECEIVE, "rx=512")
    assert refused.why is why
    assert because in refused.detail
    assert refused.detail.startswith("ethtool rings of eth0: rx: ")


@pytest.mark.namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_device_without_rings_is_a_fact() -> None:
    with nics.veth() as machine:
        refused = nics.refusal(RingSizes(machine), Target(interface="veth1", mac=nics.VETH_MAC, parameter="rx tx"))
    assert (refused.why, refused.detail) == (Why.FACT, "veth1: Operation not supported")

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.apply import nics
from tests.apply.namespace import sh
from tests.machine import oracle
from tests.trees import FEATURES
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.coalescing import Coalescing
from tuneagent.apply.machine import Machine
from tuneagent.machine.netlink import NetlinkError
from tuneagent.model.nic import Coalesce
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect
from tuneagent.model.virtio import Feature

KIND = TunableKind.COALESCING
ADAPTIVE, NUMBERS = "adaptive-rx", "rx-usecs tx-usecs"
ALL = "adaptive-rx rx-usecs"
NOW = Coalesce(rx_usecs=8, rx_max_frames=1, tx_usecs=16, tx_max_frames=0, adaptive_rx=False)
TAP = replace(nics.TAP, parameter="rx-frames")
BOTH = FEATURES | {Feature.NET_NOTF_COAL, Feature.NET_VQ_NOTF_COAL}
real = [pytest.mark.namespaces, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


def target(keys: str) -> Target:
    return replace(nics.VIRTIO, parameter=keys)


class Driver:
    """What virtio_net does with a request: numbers only while the kernel does not choose them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, refuses: int = 0, at: int = 1) -> None:
        self.values: dict[str, Any] = {"rx_usecs": 8, "adaptive_rx": False, "tx_usecs": 16}
        self.asked: list[dict[str, int]] = []
        self.refuses, self.at = refuses, at
        monkeypatch.setattr("tuneagent.apply.ethtool_settings.set_", self.set)
        monkeypatch.setattr("tuneagent.apply.ethtool_settings.reported", self.reported)

    def reported(self, *_: object) -> dict[str, Any]:
        return {"rx_max_frames": 1, "tx_max_frames": 0, "adaptive_tx": None} | self.values

    def set(self, _machine: object, _setting: object, _nic: object, values: Mapping[str, int]) -> None:
        self.asked.append(dict(values))
        if self.refuses and len(self.asked) == self.at:
            raise NetlinkError(self.refuses, os.strerror(self.refuses))
        after = {**self.values, **values}
        if after["adaptive_rx"] and after["rx_usecs"] != self.values["rx_usecs"]:
            raise NetlinkError(errno.EINVAL, os.strerror(errno.EINVAL))
        self.values = after


class TestTap:
    pytestmark = real

    def test_it_is_set_and_given_back_as_ethtool_sees_it(self) -> None:
        with nics.tap() as machine:
            actuator = Coalescing(machine)
            place = actuator.locate(KIND, TAP)
            old = actuator.read(place)
            assert (old, place.where) == ("rx-frames=0", "ethtool coalescing of tap7: rx-frames")
            actuator.write(place, "rx-frames=17")
            assert (oracle.coalesce("tap7") or {})["rx_max_frames"] == 17
            seen = actuator.effect(place, "rx-frames=17", None)
            assert (seen.effect, seen.detail) == (Effect.VERIFIED, "the driver reports rx-frames=17")
            assert actuator.effect(place, "rx-frames=18", None).effect is Effect.CONTRADICTED
            actuator.write(place, old)
            assert actuator.read(place) == old

    def test_the_line_for_people_does_the_same(self) -> None:
        with nics.tap() as machine:
            actuator = Coalescing(machine)
            place = actuator.locate(KIND, TAP)
            line = actuator.by_hand(place, "rx-frames=9")
            assert line == "ethtool -C tap7 rx-frames 9"
            sh(line)
            assert actuator.read(place) == "rx-frames=9"

    def test_a_driver_without_the_key_is_a_fact(self) -> None:
        with nics.tap() as machine:
            refused = nics.refusal(Coalescing(machine), replace(nics.TAP, parameter=NUMBERS))
        assert (refused.why, refused.detail) == (Why.FACT, "tap7: the driver has no rx-usecs and no tx-usecs")

    def test_a_driver_without_any_is_a_fact(self) -> None:
        with nics.veth() as machine:
            refused = nics.refusal(Coalescing(machine), replace(nics.VETH, parameter=NUMBERS))
        assert (refused.why, refused.detail) == (Why.FACT, "veth1: Operation not supported")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return nics.tree(tmp_path, coalesce=NOW)


@pytest.mark.parametrize(
    ("keys", "value", "wrong"),
    [
        (NUMBERS, "rx-usecs=50 tx-usecs=64", None),
        (NUMBERS, "rx-usecs=100000 tx-usecs=0", None),
        (NUMBERS, "rx-usecs=100001 tx-usecs=0", "rx-usecs=100001, where 100000 is the most"),
        (NUMBERS, "rx-usecs=50", "sets rx-usecs, where the target names rx-usecs, tx-usecs"),
        ("rx-frames tx-frames", "rx-frames=65536 tx-frames=1", "rx-frames=65536, where 65535 is the most"),
        (ADAPTIVE, "adaptive-rx=on", None),
        (ADAPTIVE, "adaptive-rx=2", "on or off"),
        (ALL, "adaptive-rx=on rx-usecs=50", None),
    ],
)
def test_what_may_be_set(machine: Machine, keys: str, value: str, wrong: str | None) -> None:
    actuator = Coalescing(machine)
    said = actuator.check(actuator.locate(KIND, target(keys)), value)
    assert (said is None) is (wrong is None)
    assert (wrong or "") in (said or "")


def test_numbers_that_the_kernel_chooses_are_not_set(tmp_path: Path) -> None:
    actuator = Coalescing(nics.tree(tmp_path, coalesce=replace(NOW, adaptive_rx=True)))
    said = actuator.check(actuator.locate(KIND, target(NUMBERS)), "rx-usecs=50 tx-usecs=64")
    assert said == "adaptive-rx is on, and so the kernel chooses; set adaptive-rx=off with it"
    assert actuator.check(actuator.locate(KIND, target(ALL)), "adaptive-rx=off rx-usecs=50") is None


@pytest.mark.parametrize(
    "value", ["adaptive-rx=on rx-usecs=50", "adaptive-rx=off rx-usecs=50", "adaptive-rx=off rx-usecs=8"]
)
def test_every_state_can_be_reached_from_every_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    machine = nics.tree(tmp_path, coalesce=NOW, features=BOTH)
    driver = Driver(monkeypatch)
    actuator = Coalescing(machine)
    place = actuator.locate(KIND, target(ALL))
    for start in ("adaptive-rx=on rx-usecs=23", "adaptive-rx=off rx-usecs=8"):
        actuator.write(place, start)
        old = actuator.read(place)
        assert old == start
        actuator.write(place, value)
        assert actuator.read(place) == value
        actuator.write(place, old)
        assert actuator.read(place) == old
    assert driver.values["tx_usecs"] == 16


def test_the_lines_for_people_go_the_same_way(machine: Machine) -> None:
    actuator = Coalescing(machine)
    place = actuator.locate(KIND, target(ALL))
    assert actuator.by_hand(place, "adaptive-rx=off rx-usecs=8") == "ethtool -C eth0 adaptive-rx off rx-usecs 8"
    assert actuator.by_hand(place, "adaptive-rx=on rx-usecs=23") == (
        "ethtool -C eth0 adaptive-rx off rx-usecs 23 && ethtool -C eth0 adaptive-rx on"
    )


def test_a_switch_that_is_refused_leaves_the_numbers_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = nics.tree(tmp_path, coalesce=NOW, features=BOTH)
    driver = Driver(monkeypatch, refuses=errno.EIO, at=2)
    actuator = Coalescing(machine)
    place = actuator.locate(KIND, target(ALL))
    with pytest.raises(Refusal) as caught:
        actuator.write(place, "adaptive-rx=on rx-usecs=50")
    assert caught.value.why is Why.FAILED
    assert driver.asked[:2] == [{"adaptive_rx": False, "rx_usecs": 50}, {"adaptive_rx": True}]
    assert actuator.read(place) == "adaptive-rx=off rx-usecs=8"


@pytest.mark.parametrize("features", [FEATURES, BOTH - {Feature.NET_NOTF_COAL}, BOTH - {Feature.NET_VQ_NOTF_COAL}])
def test_a_driver_that_would_say_yes_and_do_nothing_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, features: frozenset[int]
) -> None:
    machine = nics.tree(tmp_path, coalesce=NOW, features=features)
    driver = Driver(monkeypatch)
    assert nics.refusal(Coalescing(machine), target(ADAPTIVE), "adaptive-rx=on").why is Why.FACT
    assert driver.asked == []


@pytest.mark.parametrize(
    ("number", "keys", "value", "features", "why", "because"),
    [
        (errno.EOPNOTSUPP, "rx-usecs", "rx-usecs=5", FEATURES, Why.FACT, "no VIRTIO_NET_F_NOTF_COAL, feature bit 53"),
        (errno.EINVAL, "tx-frames", "tx-frames=8", FEATURES, Why.FACT, "napi_defer_hard_irqs does without"),
        (errno.EINVAL, "tx-frames", "tx-frames=8", BOTH, Why.FAILED, "Invalid argument"),
        (errno.EOPNOTSUPP, ADAPTIVE, "adaptive-rx=on", BOTH - {52}, Why.FACT, "feature bit 52"),
        (errno.EINVAL, "rx-usecs", "rx-usecs=5", BOTH - {52}, Why.FAILED, "Invalid argument"),
        (errno.EOPNOTSUPP, "rx-usecs", "rx-usecs=5", BOTH, Why.FACT, "not supported"),
        (errno.EBUSY, "tx-frames", "tx-frames=1", FEATURES, Why.FACT, "while the interface is up"),
        (errno.EBUSY, "rx-usecs", "rx-usecs=5", BOTH, Why.LATER, "busy"),
        (errno.ENODEV, "rx-usecs", "rx-usecs=5", BOTH, Why.GONE, "No such device"),
        (errno.EPERM, "rx-usecs", "rx-usecs=5", FEATURES, Why.FORBIDDEN, "not permitted"),
    ],
)
def test_what_an_errno_means(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    keys: str,
    value: str,
    features: frozenset[int],
    why: Why,
    because: str,
) -> None:
    machine = nics.tree(tmp_path, coalesce=NOW, features=features)
    Driver(monkeypatch, refuses=number)
    refused = nics.refusal(Coalescing(machine), target(keys), value)
    assert refused.why is why
    assert because in refused.detail

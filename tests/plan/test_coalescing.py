from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.plan import build
from tuneagent.model.nic import Coalesce
from tuneagent.model.plan import Declined
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.virtio import Feature
from tuneagent.plan.situation import Solution

NOW = Coalesce(rx_usecs=0, rx_max_frames=1, tx_usecs=0, tx_max_frames=1, adaptive_rx=False)
TIMES = {"rx_usecs": 20, "tx_usecs": 30}
BOTH = make.FEATURES | {Feature.NET_NOTF_COAL, Feature.NET_VQ_NOTF_COAL}


def machine(coalesce: Coalesce | None = NOW, features: frozenset[int] | None = BOTH) -> Snapshot:
    now = build.with_nic(make.snapshot(), coalesce=coalesce)
    assert now.virtio is not None
    return replace(now, virtio=(replace(now.virtio[0], features=features),))


def solve(now: Snapshot, **parameters: int) -> Solution | Declined:
    return build.solve(Action.COALESCING, now, nic="eth0", pinning=False, **(parameters or TIMES))


def test_times_are_set_in_one_request() -> None:
    (change,) = build.changes(solve(machine()))
    assert (change.old, change.new) == ("rx-usecs=0 tx-usecs=0", "rx-usecs=20 tx-usecs=30")
    assert (change.target.parameter, change.target.interface) == ("rx-usecs tx-usecs", "eth0")
    assert (change.do, change.undo) == (
        "ethtool -C eth0 rx-usecs 20 tx-usecs 30",
        "ethtool -C eth0 rx-usecs 0 tx-usecs 0",
    )
    assert "20 µs and 30 µs" in change.why


def test_a_time_that_somebody_chose_stays() -> None:
    (change,) = build.changes(solve(machine(replace(NOW, rx_usecs=7))))
    assert (change.old, change.new, change.target.parameter) == ("tx-usecs=0", "tx-usecs=30", "tx-usecs")
    assert "already so: somebody chose these" in build.reason(solve(machine(replace(NOW, rx_usecs=7)), rx_usecs=20))


def test_the_kernel_may_choose() -> None:
    (change,) = build.changes(solve(machine(), adaptive=True))
    assert (change.old, change.new, change.target.parameter) == ("adaptive-rx=off", "adaptive-rx=on", "adaptive-rx")
    assert (change.do, change.undo) == ("ethtool -C eth0 adaptive-rx on", "ethtool -C eth0 adaptive-rx off")


@pytest.mark.parametrize(
    ("coalesce", "reason"),
    [
        (None, "could not be read"),
        (replace(NOW, adaptive_rx=True), "already so: adaptive-rx is on"),
        (replace(NOW, rx_usecs=7, tx_usecs=9), "already so: somebody chose rx-usecs 7 and tx-usecs 9"),
        (replace(NOW, rx_usecs=None), "the driver has no rx-usecs"),
    ],
)
def test_nothing_to_do(coalesce: Coalesce | None, reason: str) -> None:
    assert reason in build.reason(solve(machine(coalesce)))


@pytest.mark.parametrize(
    ("features", "adaptive", "reason"),
    [
        (make.FEATURES, False, "no VIRTIO_NET_F_NOTF_COAL, feature bit 53"),
        (make.FEATURES, True, "no VIRTIO_NET_F_NOTF_COAL, feature bit 53"),
        (BOTH - {Feature.NET_VQ_NOTF_COAL}, True, "no VIRTIO_NET_F_VQ_NOTF_COAL, feature bit 52"),
        (None, False, "is not known"),
    ],
)
def test_a_device_without_it(features: frozenset[int] | None, reason: str, *, adaptive: bool) -> None:
    parameters = {"adaptive": True} if adaptive else TIMES
    assert reason in build.reason(solve(machine(features=features), **parameters))


def test_a_device_that_holds_back_without_queues_of_their_own_takes_times() -> None:
    assert build.changes(solve(machine(features=BOTH - {Feature.NET_VQ_NOTF_COAL})))


def test_a_driver_that_does_not_adapt() -> None:
    assert "no adaptive-rx" in build.reason(solve(machine(replace(NOW, adaptive_rx=None)), adaptive=True))

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.plan import build
from tuneagent.model.finding import Finding, Severity
from tuneagent.model.nic import Rings
from tuneagent.model.plan import Declined
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.virtio import Feature
from tuneagent.plan import rings_max
from tuneagent.plan.situation import Situation, Solution

RINGS = Rings(rx=256, rx_max=1024, tx=128, tx_max=512)
DROPS = build.finding("receive-drops")


def machine(rings: Rings | None = RINGS, features: frozenset[int] | None = None) -> Snapshot:
    now = build.with_nic(make.snapshot(), rings=rings)
    assert now.virtio is not None
    bits = make.FEATURES | {Feature.RING_RESET} if features is None else features
    return replace(now, virtio=(replace(now.virtio[0], features=bits),))


def solve(now: Snapshot, *findings: Finding) -> Solution | Declined:
    policy = build.policy(Action.RINGS_MAX)
    return rings_max.solve(Situation(policy, "eth0", make.view(now), now.nic("eth0"), findings=findings))


def test_both_rings_get_what_the_device_offers() -> None:
    (change,) = build.changes(solve(machine(), DROPS))
    assert (change.old, change.new, change.target.parameter) == ("rx=256 tx=128", "rx=1024 tx=512", "rx tx")
    assert (change.do, change.undo) == ("ethtool -G eth0 rx 1024 tx 512", "ethtool -G eth0 rx 256 tx 128")
    assert (change.where, change.target.mac) == ("ethtool rings of eth0: rx, tx", "52:54:00:12:34:56")
    assert "is lost" in build.notes(solve(machine()))


def test_a_ring_that_is_as_long_as_can_be_stays() -> None:
    (change,) = build.changes(solve(machine(replace(RINGS, rx=1024))))
    assert (change.old, change.new, change.target.parameter) == ("tx=128", "tx=512", "tx")


def test_a_way_without_a_known_maximum_is_left_alone() -> None:
    (change,) = build.changes(solve(machine(replace(RINGS, tx_max=None))))
    assert change.new == "rx=1024"


@pytest.mark.parametrize(
    ("rings", "reason"),
    [
        (None, "could not be read"),
        (Rings(), "reports no rings"),
        (Rings(rx=0, rx_max=0, tx=0, tx_max=0), "reports no rings"),
        (Rings(rx=256, rx_max=256, tx=512, tx_max=512), "already so: rx 256 and tx 512 is all"),
    ],
)
def test_nothing_to_do(rings: Rings | None, reason: str) -> None:
    assert reason in build.reason(solve(machine(rings)))


def test_a_device_that_cannot_reset_a_queue() -> None:
    assert "feature bit 40" in build.reason(solve(machine(features=make.FEATURES)))


@pytest.mark.parametrize(
    "elsewhere",
    [
        build.finding("receive-drops", subject="cpu0"),
        build.finding("receive-drops", subject="machine"),
        build.finding("receive-drops", severity=Severity.INFO),
    ],
)
def test_what_was_lost_elsewhere_needs_no_longer_ring(elsewhere: Finding) -> None:
    assert "not lost at the rings of eth0" in build.reason(solve(machine(), elsewhere))
    assert build.changes(solve(machine(), elsewhere, DROPS))

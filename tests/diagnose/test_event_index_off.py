from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import clear, finding, single, unjudged, value, with_nic
from tuneagent.diagnose.event_index_off import judge
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.virtio import Feature


def negotiated(features: frozenset[int] | None) -> Snapshot:
    base = make.snapshot()
    return replace(base, virtio=tuple(replace(device, features=features) for device in base.virtio or ()))


def test_one_sample_shows_that_it_is_off() -> None:
    found = finding(judge, single(negotiated(make.FEATURES - {Feature.RING_EVENT_IDX})))
    assert found.subject == "eth0"
    assert value(found, "VIRTIO_RING_F_EVENT_IDX") == "absent"
    assert "packed" not in found.explanation


def test_a_packed_ring_is_noted() -> None:
    packed = negotiated((make.FEATURES - {Feature.RING_EVENT_IDX}) | {Feature.RING_PACKED})
    assert "packed" in finding(judge, single(packed)).explanation


def test_a_legacy_device_with_it_is_clear() -> None:
    assert value(clear(judge, single(negotiated(frozenset({5, 22, 29})))), "VIRTIO_RING_F_EVENT_IDX") == "negotiated"


def test_unknown_features_are_not_off() -> None:
    unjudged(judge, single(negotiated(None)))
    unjudged(judge, single(replace(make.snapshot(), virtio=None)))


def test_nothing_for_other_devices() -> None:
    disk = replace(negotiated(frozenset({1, 2})).virtio[0], device_id=2)  # type: ignore[index]  # the builder has one
    assert judge(single(replace(with_nic(make.snapshot(), virtio=None), virtio=(disk,)))) == ()

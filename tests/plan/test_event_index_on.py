from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make
from tests.plan import build
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot

ON = Action.EVENT_INDEX_ON
UUID = "11111111-2222-3333-4444-555555555555"


def without(**identity: Any) -> Snapshot:
    now = make.snapshot()
    assert now.virtio is not None
    assert now.identity is not None
    device = replace(now.virtio[0], features=make.FEATURES - {29})
    return replace(now, virtio=(device,), identity=replace(now.identity, **identity))


def test_the_definition_is_found_by_uuid_and_mac() -> None:
    (change,) = build.changes(build.solve(ON, without()))
    assert (change.target.domain_uuid, change.target.mac) == (UUID, "52:54:00:12:34:56")
    assert UUID in change.where
    assert "<mac address='52:54:00:12:34:56'/>" in change.where
    assert (change.old, change.new) == ("off", "on")
    assert change.do == (
        f"virt-xml {UUID} --edit mac=52:54:00:12:34:56 --network xpath1.set=./driver/@event_idx,xpath1.value=on"
    )
    assert change.undo == change.do.removesuffix("on") + "off"


def test_when_it_takes_effect_is_said() -> None:
    notes = build.notes(build.solve(ON, without()))
    assert "cold start" in notes
    assert "detached and attached" in notes


@pytest.mark.parametrize("uuid", [None, "no uuid; reboot", "1" * 36])
def test_an_unknown_domain_is_for_a_person_to_name(uuid: str | None) -> None:
    answer = build.solve(ON, without(product_uuid=uuid))
    (change,) = build.changes(answer)
    assert change.do.startswith("virt-xml DOMAIN --edit")
    assert change.target.domain_uuid is None
    assert "put its name for DOMAIN" in build.notes(answer)


def test_on_is_on() -> None:
    assert "already so" in build.reason(build.solve(ON, make.snapshot()))


def test_unknown_features() -> None:
    now = without()
    assert now.virtio is not None
    assert "not known" in build.reason(build.solve(ON, replace(now, virtio=(replace(now.virtio[0], features=None),))))
    assert "not known" in build.reason(build.solve(ON, replace(now, virtio=None)))


@pytest.mark.parametrize("mac", [None, "", "52:54:00:12:34:5g", "52:54:00:12:34:56;reboot"])
def test_without_a_mac_nothing_can_be_found(mac: str | None) -> None:
    assert "MAC" in build.reason(build.solve(ON, build.with_nic(without(), mac=mac)))

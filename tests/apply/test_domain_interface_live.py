from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.apply import make
from tests.apply.libvirt_like import INTERFACES, MAC, TWIN, URI, UUID, LibvirtLike, libvirt_like, machine
from tests.machine.bindings import needs_libvirt
from tests.machine.conftest import ended as ended  # noqa: PLC0414 - a fixture that every test here has
from tuneagent.apply import domain_interface_live
from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.domain_interface_live import DETACHED, LiveInterface
from tuneagent.apply.undo import Undoing
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts, Outcome

KIND = TunableKind.DOMAIN_INTERFACE_LIVE
TARGET = Target(domain_uuid=UUID, uri=URI, mac=MAC, address="0000:01:00.0", position=0, parameter="event_idx")
pytestmark = needs_libvirt


@pytest.fixture
def libvirt(monkeypatch: pytest.MonkeyPatch) -> LibvirtLike:
    monkeypatch.setattr("tuneagent.machine.libvirt_writing.POLL_S", 0.001)
    made = libvirt_like()
    made.attach(monkeypatch)
    return made


@pytest.fixture
def actuator() -> LiveInterface:
    return LiveInterface(machine())


def place(actuator: LiveInterface, **changes: object) -> Place:
    return actuator.locate(KIND, replace(TARGET, **changes))  # type: ignore[arg-type]  # fields of a target


def refused(actuator: LiveInterface, **changes: object) -> Refusal:
    with pytest.raises(Refusal) as caught:
        place(actuator, **changes)
    return caught.value


def refused_write(actuator: LiveInterface, at: Place, value: str = "on") -> Refusal:
    with pytest.raises(Refusal) as caught:
        actuator.write(at, value)
    assert caught.value.why is Why.FAILED
    return caught.value


def elements(libvirt: LibvirtLike) -> list[tuple[str, Any]]:
    told = (call.partition(" ") for call in libvirt.calls)
    return [(verb, ET.fromstring(element)) for verb, _, element in told]  # noqa: S314 - made by the code under test


def test_the_device_is_exchanged_at_its_place(libvirt: LibvirtLike, actuator: LiveInterface) -> None:
    stored, at = libvirt.stored(), place(actuator)
    libvirt.letting_go = 4
    assert actuator.read(at) == "off"
    actuator.write(at, "on")
    (out, old), (back, new) = elements(libvirt)
    assert (out, back) == ("detach", "attach")
    assert [one.find("driver").attrib["event_idx"] for one in (old, new)] == ["off", "on"]
    for tag in ("mac", "address", "source", "model"):
        assert old.find(tag).attrib == new.find(tag).attrib
    assert new.find("address").get("bus") == "0x01"
    assert new.find("alias") is None
    assert actuator.read(at) == "on"
    assert actuator.effect(at, "on", None).effect is Effect.VERIFIED
    assert actuator.effect(at, "off", None).effect is Effect.CONTRADICTED
    assert libvirt.stored() == stored == actuator.previous(at)
    assert actuator.lasts is Lasts.THREAD
    actuator.write(place(actuator), "off")
    assert actuator.read(at) == "off"


def test_an_attribute_that_was_not_there_goes_again(libvirt: LibvirtLike, actuator: LiveInterface) -> None:
    at = place(actuator, mac=TWIN, address="0000:03:00.0")
    actuator.write(at, "off")
    actuator.write(at, "")
    assert actuator.read(at) == ""
    assert [one.find("driver").attrib for _, one in elements(libvirt)] == [
        {"queues": "3"},
        {"queues": "3", "event_idx": "off"},
        {"queues": "3", "event_idx": "off"},
        {"queues": "3"},
    ]


def test_a_guest_that_does_not_let_go(
    libvirt: LibvirtLike, actuator: LiveInterface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain_interface_live, "UNPLUG_S", 0.01)
    at, libvirt.letting_go = place(actuator), 10**9
    refusal = refused_write(actuator, at)
    assert "did not let go of the device within 0.01 s" in refusal.detail
    assert "put it back" in (refusal.remedy or "")
    assert [verb for verb, _ in elements(libvirt)] == ["detach"]


def test_where_the_new_one_is_refused_the_old_one_comes_back(libvirt: LibvirtLike, actuator: LiveInterface) -> None:
    at, libvirt.refused["attach"] = place(actuator), 1
    refusal = refused_write(actuator, at)
    assert refusal.detail.endswith("attach refused; the old one was put back")
    assert actuator.read(at) == "off"


def test_an_interface_that_was_taken_out_is_ours_and_put_back(libvirt: LibvirtLike, actuator: LiveInterface) -> None:
    at, libvirt.refused["attach"] = place(actuator), 2
    refusal = refused_write(actuator, at)
    assert "nor could the old one be put back" in refusal.detail
    assert "attach-device" in (refusal.remedy or "")
    # What an end in the middle leaves too. Another process finds it with what the journal tells.
    again = LiveInterface(machine())
    at = again.locate(KIND, at.target)
    assert again.read(at) == DETACHED
    assert again.check(at, "on") == "the running domain has no such interface"  # a new apply plugs nothing in
    entry = make.entry(kind=KIND, target=at.target, old="off", new="on")
    outcome, _ = Undoing(machine(), {KIND: again}, lambda _: None)._restored(again, at, entry)  # noqa: SLF001
    assert outcome is Outcome.GIVEN_BACK
    assert actuator.read(at) == "off"


def test_what_is_refused_before_anything_happened_needs_no_undo(libvirt: LibvirtLike, actuator: LiveInterface) -> None:
    at, libvirt.refused["detach"] = place(actuator), 1
    assert refused_write(actuator, at).detail == "detach refused"
    assert actuator.read(at) == "off"


def test_without_a_root_port_nothing_is_touched(monkeypatch: pytest.MonkeyPatch, actuator: LiveInterface) -> None:
    libvirt = libvirt_like(interfaces=(INTERFACES[0].replace("bus='1' slot='0'", "bus='0' slot='3'"),))
    libvirt.attach(monkeypatch)
    refusal = refused(actuator, address="0000:00:03.0")
    assert (refusal.why, "pcie-root-port" in refusal.detail) == (Why.FACT, True)
    assert libvirt.calls == []


def test_a_domain_that_does_not_run_has_no_device(libvirt: LibvirtLike, actuator: LiveInterface) -> None:
    libvirt.stop()
    assert refused(actuator).why is Why.GONE


def test_a_paused_guest_is_waited_for(libvirt: LibvirtLike, actuator: LiveInterface) -> None:
    libvirt.keeper.ask(lambda it: it.lookupByUUIDString(UUID).suspend())
    assert refused(actuator).why is Why.LATER


def test_what_is_stored_nowhere_is_not_taken_out(libvirt: LibvirtLike, actuator: LiveInterface) -> None:
    libvirt.define(lambda text: text.replace(MAC, "52:54:00:0a:0b:99"))
    assert refused(actuator).why is Why.FACT
    libvirt.undefine()
    assert refused(actuator).why is Why.FACT
    assert libvirt.calls == []


def test_by_hand(libvirt: LibvirtLike, actuator: LiveInterface) -> None:
    words = shlex.split(actuator.by_hand(place(actuator), "on"))
    assert [word for word in words if word.endswith("-device")] == ["detach-device", "attach-device"]
    assert [word.count('event_idx="on"') for word in words if word.startswith("<")] == [0, 1]
    assert libvirt.calls == []

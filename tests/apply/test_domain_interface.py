from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from tests.apply.libvirt_like import INTERFACES, MAC, TWIN, URI, UUID, LibvirtLike, libvirt_like, machine
from tests.machine.bindings import needs_libvirt
from tests.machine.conftest import ended as ended  # noqa: PLC0414 - a fixture that every test here has
from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.domain_interface import StoredInterface
from tuneagent.machine.libvirt_connection import Connection
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts

KIND = TunableKind.DOMAIN_INTERFACE_DRIVER
TARGET = Target(domain_uuid=UUID, uri=URI, mac=MAC, address="0000:01:00.0", position=0, parameter="event_idx")
pytestmark = needs_libvirt


@pytest.fixture
def libvirt(monkeypatch: pytest.MonkeyPatch) -> LibvirtLike:
    made = libvirt_like()
    made.attach(monkeypatch)
    return made


@pytest.fixture
def actuator() -> StoredInterface:
    return StoredInterface(machine())


def place(actuator: StoredInterface, **changes: object) -> Place:
    return actuator.locate(KIND, replace(TARGET, **changes))  # type: ignore[arg-type]  # fields of a target


def refused(actuator: StoredInterface, **changes: object) -> Refusal:
    with pytest.raises(Refusal) as caught:
        place(actuator, **changes)
    return caught.value


def test_one_attribute_is_changed_and_given_back_byte_for_byte(libvirt: LibvirtLike, actuator: StoredInterface) -> None:
    stored, at = libvirt.stored(), place(actuator)
    assert at.where == f"libvirt domain {UUID}: event_idx of <driver> in the <interface> with <mac address='{MAC}'/>"
    assert actuator.read(at) == "off"
    assert actuator.previous(at) == stored
    actuator.write(at, "on")
    assert actuator.read(at) == "on"
    assert libvirt.stored() == stored.replace("event_idx='off'", "event_idx='on'")
    assert "event_idx='off'" in libvirt.running()
    actuator.write(at, "off")
    assert libvirt.stored() == stored
    assert actuator.lasts is Lasts.STORED
    assert "passwd='ruby'" in libvirt.text(3)


@pytest.mark.parametrize("name", ["queues", "rx_queue_size", "name", "event_idx"])
def test_an_attribute_that_was_not_there_goes_again(libvirt: LibvirtLike, actuator: StoredInterface, name: str) -> None:
    # The first twin has no <driver> at all, the second one with another attribute.
    for address, value in (("0000:02:00.0", {"queues": "7"}), ("0000:03:00.0", {})):
        if address.startswith("0000:03") and name == "queues":
            continue
        stored, at = libvirt.stored(), place(actuator, mac=TWIN, address=address, parameter=name)
        assert actuator.read(at) == ""
        wanted = value.get(name) or {"rx_queue_size": "512", "name": "qemu", "event_idx": "off"}[name]
        actuator.write(at, wanted)
        assert actuator.read(at) == wanted
        assert libvirt.stored().count(f"{name}='{wanted}'") == stored.count(f"{name}='{wanted}'") + 1
        actuator.write(at, "")
        assert libvirt.stored() == stored


def test_what_somebody_changed_beside_it_stays(libvirt: LibvirtLike, actuator: StoredInterface) -> None:
    at = place(actuator)
    actuator.write(at, "on")
    libvirt.define(lambda text: text.replace("event_idx='on' queues='2'", "event_idx='on' queues='6'"))
    actuator.write(at, actuator.read(at))
    actuator.write(at, "off")
    assert "event_idx='off' queues='6'" in libvirt.stored()


def test_its_effect_comes_with_the_next_cold_start(libvirt: LibvirtLike, actuator: StoredInterface) -> None:
    at = place(actuator)
    actuator.write(at, "on")
    seen = actuator.effect(at, "on", None)
    assert seen.effect is Effect.NOT_YET
    assert seen.detail == "takes effect at the next cold start; now event_idx='off'"
    assert actuator.effect(at, "off", None).effect is Effect.VERIFIED
    twin = place(actuator, mac=TWIN, address="0000:02:00.0")
    assert actuator.effect(twin, "on", None).effect is Effect.VERIFIED  # what is not written is on
    libvirt.stop()
    assert actuator.effect(at, "on", None).effect is Effect.VERIFIED


@pytest.mark.parametrize(
    ("changes", "position"),
    [
        ({"mac": TWIN, "address": "0000:03:00.0", "position": None}, 2),
        ({"mac": TWIN, "address": None, "alias": "net9", "position": 1}, 1),
        ({"mac": TWIN.upper(), "address": "0000:02:00.0"}, 1),
        ({"mac": MAC, "address": "0000:09:00.0", "position": 7}, 0),  # it has moved: the MAC is its own
        ({"mac": None, "address": "0000:03:00.0"}, 2),
        ({"mac": None, "address": None, "position": 1}, 1),
    ],
)
def test_which_interface_is_meant(
    libvirt: LibvirtLike, actuator: StoredInterface, changes: dict[str, object], position: int
) -> None:
    assert place(actuator, **changes).handle.interface.position == position
    assert libvirt.calls == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"mac": "52:54:00:0a:0b:ff"}, Why.GONE),
        ({"mac": TWIN, "address": "0000:01:00.0"}, Why.GONE),
        ({"mac": TWIN, "address": None, "position": None}, Why.FACT),
        ({"mac": None, "address": None, "position": None}, Why.FACT),
        ({"mac": None, "address": None, "position": 99}, Why.GONE),
        ({"mac": "52:54:00:0a:0b:0e"}, Why.FACT),
        ({"parameter": None}, Why.FACT),
        ({"parameter": "txmode' x='"}, Why.FACT),
        ({"domain_uuid": UUID.replace("0", "1")}, Why.GONE),
        ({"domain_uuid": None}, Why.FACT),
        ({"uri": "qemu+ssh://evil/system"}, Why.FACT),
    ],
)
def test_what_is_not_there_or_not_told(
    libvirt: LibvirtLike, actuator: StoredInterface, changes: dict[str, object], why: Why
) -> None:
    assert refused(actuator, **changes).why is why
    assert libvirt.calls == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("event_idx", "yes"),
        ("event_idx", "on' x='"),
        ("event_idx", "on\n"),
        ("name", "vfio"),
        ("queues", "0"),
        ("queues", "-1"),
        ("queues", "9" * 6),
        ("tx_queue_size", "detached"),
    ],
)
def test_what_must_never_be_written(libvirt: LibvirtLike, actuator: StoredInterface, name: str, value: str) -> None:
    assert actuator.check(place(actuator, parameter=name), value)
    assert libvirt.calls == []


def test_a_transient_domain_has_nothing_stored(libvirt: LibvirtLike, actuator: StoredInterface) -> None:
    libvirt.undefine()
    assert refused(actuator).why is Why.FACT
    assert refused(actuator).detail.endswith("is transient: it has no stored definition")


def test_what_libvirt_refuses_is_told_in_its_words(libvirt: LibvirtLike, actuator: StoredInterface) -> None:
    stored, at = libvirt.stored(), place(actuator)
    libvirt.refused["update"] = 1
    with pytest.raises(Refusal) as caught:
        actuator.write(at, "on")
    assert (caught.value.why, caught.value.detail) == (Why.FAILED, "update refused")
    assert libvirt.stored() == stored


def test_without_a_daemon_nothing_is_gone(
    libvirt: LibvirtLike, actuator: StoredInterface, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = place(actuator)

    def absent(*_: object) -> None:
        raise SourceError(URI, Reason.ABSENT, "no daemon", "start it")

    monkeypatch.setattr(Connection, "ask", absent)
    refusal = refused(actuator)
    assert (refusal.why, refusal.detail, refusal.remedy) == (Why.LATER, "no daemon", "start it")
    with pytest.raises(Refusal):
        actuator.read(at)
    assert libvirt.calls == []


def test_by_hand(actuator: StoredInterface) -> None:
    libvirt = libvirt_like(interfaces=(INTERFACES[0].replace("br1", "br&apos;0;`x`"),))
    words = shlex.split(actuator.by_hand(place(actuator), "on"))
    assert words[:2] == ["printf", "%s"]
    assert words[3:] == ["|", "virsh", "-c", URI, "update-device", UUID, "/dev/stdin", "--config"]
    assert 'bridge="br\'0;`x`"' in words[2]
    assert 'event_idx="on"' in words[2]
    assert libvirt.calls == []

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.apply import make
from tests.apply.libvirt_like import URI, UUID, LibvirtLike, libvirt_error, libvirt_like, machine
from tests.apply.qemu_like import qemu_like
from tests.machine.bindings import needs_libvirt
from tests.machine.conftest import ended as ended  # noqa: PLC0414 - a fixture that every test here has
from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.emulator_pin import EmulatorPin, Pin
from tuneagent.apply.undo import Undoing
from tuneagent.machine.libvirt_connection import bindings
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Outcome

KIND = TunableKind.EMULATOR_PIN
TARGET = Target(domain_uuid=UUID, thread_role="emulator", uri=URI)
ALLOWED = str(CpuSet.of(os.sched_getaffinity(0)))
pytestmark = needs_libvirt


@pytest.fixture
def libvirt() -> LibvirtLike:
    return libvirt_like()


@pytest.fixture
def actuator() -> EmulatorPin:
    return EmulatorPin(machine())


def place(actuator: EmulatorPin, target: Target = TARGET) -> Place:
    return actuator.locate(KIND, target)


def test_both_places_are_set_and_given_back_byte_for_byte(libvirt: LibvirtLike, actuator: EmulatorPin) -> None:
    stored = libvirt.stored()
    at = place(actuator)
    old = actuator.read(at)
    assert old == "live=0-7 config="  # the test driver's host has eight CPUs
    assert not actuator.same(old, "1-2")
    actuator.write(at, "1-2")
    assert actuator.read(at) == "live=1-2 config=1-2"
    assert actuator.same(actuator.read(at), "1-2")
    assert "<emulatorpin cpuset='1-2'/>" in libvirt.stored()
    actuator.write(at, old)
    assert libvirt.stored() == stored
    assert actuator.same(actuator.read(at), old)
    assert "passwd='ruby'" in libvirt.text(3)  # defined anew with its secrets


def test_a_pin_that_was_there_comes_back(libvirt: LibvirtLike, actuator: EmulatorPin) -> None:
    libvirt.define(lambda text: text.replace("<os>", "<cputune><emulatorpin cpuset='3,5'/></cputune><os>"))
    stored, at = libvirt.stored(), place(actuator)
    old = actuator.read(at)
    assert old == "live=0-7 config=3,5"
    actuator.write(at, "1")
    assert actuator.previous(at) != stored
    actuator.write(at, old)
    assert libvirt.stored() == stored == actuator.previous(at)


def test_a_domain_that_is_shut_off_has_one_place(actuator: EmulatorPin) -> None:
    libvirt = libvirt_like(runs=False)
    stored, at = libvirt.stored(), place(actuator)
    assert actuator.read(at) == "config="
    actuator.write(at, "2")
    assert actuator.read(at) == "config=2"
    assert actuator.effect(at, "2", None).effect is Effect.VERIFIED
    actuator.write(at, "live=0-7 config=")  # it ran when it was changed
    assert libvirt.stored() == stored


def test_a_transient_domain_has_the_other(libvirt: LibvirtLike, actuator: EmulatorPin) -> None:
    libvirt.undefine()
    at = place(actuator)
    actuator.write(at, "2")
    assert actuator.read(at) == "live=2"
    assert actuator.previous(at) == ""


def test_a_domain_that_is_not_there_is_gone(libvirt: LibvirtLike, actuator: EmulatorPin) -> None:
    libvirt.undefine()
    libvirt.stop()
    with pytest.raises(Refusal) as caught:
        place(actuator)
    assert caught.value.why is Why.GONE


def test_an_end_between_the_two_places_is_undone(libvirt: LibvirtLike, actuator: EmulatorPin) -> None:
    stored, at = libvirt.stored(), place(actuator)
    old = actuator.read(at)
    actuator.write(at, "config=1")  # as far as it came
    now = actuator.read(at)
    assert not actuator.same(now, old)
    assert not actuator.same(now, "1")
    assert actuator.half_done(now, old, "1")
    assert not actuator.half_done("live=0-7 config=2", old, "1")
    assert not actuator.half_done("x", old, "1")
    undoing = Undoing(machine(), {KIND: actuator}, lambda _: None)
    outcome, _ = undoing._restored(actuator, at, _entry(old, "1"))  # noqa: SLF001 - the rule, without a journal
    assert (outcome, libvirt.stored()) == (Outcome.GIVEN_BACK, stored)


def _entry(old: str, new: str) -> Any:
    return make.entry(old=old, new=new)


def test_what_failed_half_way_is_no_fact(
    libvirt: LibvirtLike, actuator: EmulatorPin, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, module = place(actuator), bindings()
    pin = module.virDomain.pinEmulator

    def pin_stored(it: Any, cpus: Any, flags: int) -> int:
        if flags != module.VIR_DOMAIN_AFFECT_CONFIG:
            raise libvirt_error("OPERATION_UNSUPPORTED", "no live pins")
        return int(pin(it, cpus, flags))

    monkeypatch.setattr(module.virDomain, "pinEmulator", pin_stored)
    with pytest.raises(Refusal) as caught:
        actuator.write(at, "1")
    assert (caught.value.why, caught.value.detail) == (Why.FAILED, "no live pins")
    actuator.write(at, "config=")
    with pytest.raises(Refusal) as caught:
        actuator.write(at, "live=1")  # nothing was written before
    assert caught.value.why is Why.FACT
    assert "emulatorpin" not in libvirt.stored()


def test_its_effect_is_where_qemu_may_run(libvirt: LibvirtLike, actuator: EmulatorPin) -> None:
    at = place(actuator)
    assert actuator.effect(at, "0", None).effect is Effect.NOT_YET  # the test driver runs nothing
    with qemu_like(uuid=UUID) as qemu:
        actuator = EmulatorPin(machine())  # the list of processes is kept for a second
        assert actuator.effect(at, "4000", None).effect is Effect.CONTRADICTED
        assert f"process {qemu.pid}" in actuator.effect(at, ALLOWED, None).detail
        assert actuator.effect(at, ALLOWED, None).effect is Effect.VERIFIED
        assert [target.tid for _, target in actuator.rewrites(at)] == [qemu.tid]
    assert EmulatorPin(machine()).rewrites(at) == ()
    assert libvirt.calls == []


@pytest.fixture
def nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuneagent.machine.libvirt_connection.Connection.ask", lambda *_: pytest.fail("asked"))


@pytest.mark.usefixtures("nothing_is_asked")
@pytest.mark.parametrize(
    "target",
    [
        Target(domain_uuid=UUID, uri="qemu+ssh://example.org/system?command=/bin/evil"),
        Target(domain_uuid=UUID, uri="qemu+ext:///system?command=/bin/evil"),
        Target(domain_uuid=UUID, uri="qemu:///system?socket=/tmp/x"),
        Target(domain_uuid=UUID, uri="test:///a\n"),
        Target(domain_uuid="no uuid", uri=URI),
        Target(domain_uuid=UUID + "\n", uri=URI),
        Target(uri=URI),
    ],
)
def test_hostile_targets_reach_no_libvirt(actuator: EmulatorPin, target: Target) -> None:
    with pytest.raises(Refusal) as caught:
        actuator.locate(KIND, target)
    assert caught.value.why is Why.FACT


@pytest.mark.parametrize("text", ["live=0-1 config=", "live=3", "config=", "config=2,4", "live=1 config=0-2"])
def test_values_are_read_as_they_are_written(text: str) -> None:
    assert str(Pin.of(text)) == text


@pytest.mark.parametrize("text", ["", " ", "live=", "live=x", "live=0  config=1", "config=1 live=0", "0 config=", "-1"])
def test_what_is_no_value(actuator: EmulatorPin, text: str) -> None:
    assert Pin.of(text) is None
    assert actuator.check(Place("", TARGET), text)


def test_values_are_compared_where_both_tell(actuator: EmulatorPin) -> None:
    assert Pin.of("2,3") == Pin(CpuSet.of([2, 3]), CpuSet.of([2, 3]))
    assert actuator.same("live=0-1 config=0-1", "0,1")
    assert actuator.same("config=0-1", "live=5 config=0,1")
    assert not actuator.same("live=0-1 config=", "0-1")
    assert not actuator.same("live=0", "config=0")


def test_by_hand(libvirt: LibvirtLike, actuator: EmulatorPin) -> None:
    at = place(actuator)
    virsh = f"virsh -c {URI}"
    assert actuator.by_hand(at, "live=0-7 config=") == (
        f"{virsh} dumpxml {UUID} --inactive --security-info | sed '/<emulatorpin /d' | {virsh} define /dev/stdin"
        f" && {virsh} emulatorpin {UUID} 0-7 --live"
    )
    assert actuator.by_hand(at, "config=3") == f"{virsh} emulatorpin {UUID} 3 --config"
    assert libvirt.stored()

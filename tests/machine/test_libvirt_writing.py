"""The calls that change a domain, on libvirt's own test driver as far as that has them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.machine.bindings import needs_libvirt
from tuneagent.machine import libvirt_writing
from tuneagent.machine.libvirt_connection import Connection, bindings
from tuneagent.machine.libvirt_writing import LibvirtWriting
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

pytestmark = needs_libvirt
URI = "test:///default"
UUID = "6695eb01-f6a4-8304-79aa-97f2502e193f"
"""Of the domain that the test driver begins with."""


@pytest.fixture
def libvirt() -> LibvirtWriting:
    # The driver's default machine is there as long as somebody is connected to it.
    keeper = Connection(URI)
    keeper.ask(lambda it: it.getType())
    return LibvirtWriting(URI)


def stored(libvirt: LibvirtWriting) -> str:
    found = libvirt.definitions(UUID)
    assert found is not None
    assert found.stored is not None
    return found.stored


def test_both_definitions_and_the_state(libvirt: LibvirtWriting) -> None:
    found = libvirt.definitions(UUID)
    assert found is not None
    assert found.state == "running"
    assert found.live is not None
    assert f"<uuid>{UUID}</uuid>" in found.live
    assert libvirt.definitions(UUID.replace("6", "7")) is None


def test_no_connection_that_writes_is_opened_to_look(libvirt: LibvirtWriting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bindings(), "open", lambda _: pytest.fail("opened for writing"))
    stored(libvirt)
    libvirt.emulator_cpus(UUID)


def test_the_emulator_is_pinned_where_it_was_asked(libvirt: LibvirtWriting) -> None:
    everywhere = libvirt.emulator_cpus(UUID)
    libvirt.pin_emulator(UUID, CpuSet.of([1, 2]), live=False)
    assert "<emulatorpin cpuset='1-2'/>" in stored(libvirt)
    assert libvirt.emulator_cpus(UUID) == everywhere
    libvirt.pin_emulator(UUID, CpuSet.of([3]), live=True)
    assert libvirt.emulator_cpus(UUID) == CpuSet.of([3])
    assert "<emulatorpin cpuset='1-2'/>" in stored(libvirt)


def test_a_definition_is_given_with_its_secrets_and_defined_anew(libvirt: LibvirtWriting) -> None:
    graphics = "<devices>\n    <graphics type='vnc' port='-1' autoport='yes' passwd='ruby'/>"
    libvirt.redefine(UUID, lambda text: text.replace("<devices>", graphics))
    assert "passwd" not in stored(libvirt)
    seen: list[str] = []

    def keep(text: str) -> str:
        seen.append(text)
        return text

    libvirt.redefine(UUID, keep)
    libvirt.redefine(UUID, keep)
    assert "passwd='ruby'" in seen[1]


def test_what_libvirt_cannot_is_told_apart(libvirt: LibvirtWriting, monkeypatch: pytest.MonkeyPatch) -> None:
    for change in (libvirt.update_stored_device, libvirt.detach_device, libvirt.attach_device):
        with pytest.raises(SourceError) as caught:
            change(UUID, "<interface type='user'/>")
        assert caught.value.reason is Reason.UNSUPPORTED
    with pytest.raises(SourceError) as caught:
        libvirt.pin_emulator(UUID.replace("6", "7"), CpuSet.of([1]), live=True)
    assert caught.value.reason is Reason.FAILED
    module = bindings()

    def refuse(*_: Any) -> None:
        error = module.libvirtError("no")
        error.err = (module.VIR_ERR_CONFIG_UNSUPPORTED, 0, "not\nsupported", 0, "", None, None, 0, 0)
        raise error

    monkeypatch.setattr(module.virDomain, "updateDeviceFlags", refuse)
    with pytest.raises(SourceError) as caught:
        libvirt.update_stored_device(UUID, "")
    assert (caught.value.reason, caught.value.detail) == (Reason.UNSUPPORTED, "not supported")


def test_waiting_ends(libvirt: LibvirtWriting, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)

    def third(text: str) -> bool:
        looks.append(text)
        return len(looks) == 3

    assert libvirt.await_live(UUID, third, 60)
    assert waits == [libvirt_writing.POLL_S] * 2
    assert not libvirt.await_live(UUID, lambda _: False, 0)
    assert libvirt.await_live(UUID.replace("6", "7"), lambda _: False, 60)

"""The actuators of a hypervisor as a transaction uses them: journalled, read from the disk again, and undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apply import make
from tests.apply.libvirt_like import MAC, TWIN, URI, UUID, LibvirtLike, libvirt_like, machine
from tests.machine.bindings import needs_libvirt
from tests.machine.conftest import ended as ended  # noqa: PLC0414 - a fixture that every test here has
from tuneagent.apply.journal import Journal, Store
from tuneagent.apply.registry import actuators
from tuneagent.apply.transaction import Failed, Wanted, Work, run
from tuneagent.apply.undo import Undoing
from tuneagent.machine.state_directory import StateDirectory
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Outcome, State, Transaction

pytestmark = needs_libvirt
EVENT = Target(domain_uuid=UUID, uri=URI, mac=MAC, address="0000:01:00.0", parameter="event_idx")
QUEUES = Target(domain_uuid=UUID, uri=URI, mac=TWIN, address="0000:02:00.0", parameter="queues")
WANTED = (
    (TunableKind.DOMAIN_INTERFACE_LIVE, EVENT, "on"),
    (TunableKind.DOMAIN_INTERFACE_DRIVER, EVENT, "on"),
    (TunableKind.DOMAIN_INTERFACE_DRIVER, QUEUES, "4"),
    (TunableKind.EMULATOR_PIN, Target(domain_uuid=UUID, uri=URI), "1-2"),
)


@pytest.fixture
def libvirt(monkeypatch: pytest.MonkeyPatch) -> LibvirtLike:
    made = libvirt_like()
    made.attach(monkeypatch)
    return made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(StateDirectory("/state", root=str(tmp_path)))


def begin(store: Store) -> Journal:
    return store.begin(
        boot_id=make.BOOT_ID, version="1", writer=make.WRITER, command="apply", policies=(), deadline=None, now_ns=1
    )


def apply(store: Store) -> Transaction | None:
    one = machine()
    work = Work(one, actuators(one), lambda: begin(store), lambda _: None, settle_s=0.0)
    wanted = [
        Wanted("policy", make.change(kind=kind, target=target, old=None, new=new)) for kind, target, new in WANTED
    ]
    return run(work, lambda: wanted)


def undo(store: Store, number: int) -> Transaction:
    """As another process does it, which knows the journal alone."""
    one = machine()
    undoing = Undoing(one, actuators(one), lambda _: None, make.BOOT_ID)
    return undoing.undo(store.open(number), "asked")


def test_all_kinds_are_made_and_given_back_byte_for_byte(libvirt: LibvirtLike, store: Store) -> None:
    stored = libvirt.stored()
    done = apply(store)
    assert done is not None
    assert [entry.outcome for entry in done.entries] == [Outcome.CHANGED] * 4
    assert {entry.previous for entry in store.load(done.id).entries} >= {stored}
    for word in ("event_idx='on'", "<driver queues='4'/>", "<emulatorpin cpuset='1-2'/>"):
        assert word in libvirt.stored()
    assert 'event_idx="on"' in libvirt.running()
    assert apply(store) is None  # a second time nothing is written
    assert undo(store, done.id).state is State.UNDONE
    assert libvirt.stored() == stored
    assert 'event_idx="off"' in libvirt.running()


def test_what_fails_gives_back_all_that_was_made_before(libvirt: LibvirtLike, store: Store) -> None:
    stored, libvirt.refused["attach"] = libvirt.stored(), 1
    with pytest.raises(Failed, match="attach refused; the old one was put back"):
        apply(store)
    assert libvirt.stored() == stored


def test_a_device_that_could_not_be_put_back_is_tried_again_by_the_undo(libvirt: LibvirtLike, store: Store) -> None:
    stored, libvirt.refused["attach"] = libvirt.stored(), 3
    with pytest.raises(Failed) as caught:
        apply(store)
    transaction = caught.value.transaction
    assert transaction is not None
    assert Outcome.STUCK in {entry.outcome for entry in transaction.entries}
    assert undo(store, transaction.id).state is State.UNDONE
    assert libvirt.stored() == stored
    assert 'event_idx="off"' in libvirt.running()


def test_an_administrators_later_change_is_left(libvirt: LibvirtLike, store: Store) -> None:
    done = apply(store)
    assert done is not None
    libvirt.define(lambda text: text.replace("<driver queues='4'/>", "<driver queues='6'/>"))
    after = undo(store, done.id)
    left = [entry.target.parameter for entry in after.entries if entry.outcome is Outcome.YIELDED]
    assert left == ["queues"]
    assert "<driver queues='6'/>" in libvirt.stored()

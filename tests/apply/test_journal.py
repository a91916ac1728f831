"""A journal in a real directory: what is recorded is what is read, and what was recorded stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.apply import make
from tuneagent.apply.journal import Journal, JournalError, Store
from tuneagent.machine.state_directory import StateDirectory
from tuneagent.model.transaction import Effect, Outcome, State


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory("/state", root=str(tmp_path))


@pytest.fixture
def store(directory: StateDirectory) -> Store:
    return Store(directory)


def begin(store: Store, **changes: Any) -> Journal:
    given: dict[str, Any] = {
        "boot_id": make.BOOT_ID,
        "version": "1.2.3",
        "writer": make.WRITER,
        "command": "tuneagent apply pin-queue-interrupts --on eth0",
        "policies": ("pin-queue-interrupts",),
        "deadline": None,
        "now_ns": make.BEGAN_NS,
    }
    return store.begin(**given | changes)


def committed(store: Store, count: int = 2) -> Journal:
    journal = begin(store)
    journal.intend([make.entry(index) for index in range(count)])
    for index in range(count):
        journal.outcome(index, Outcome.CHANGED)
    journal.commit()
    return journal


def undone(store: Store) -> Journal:
    journal = committed(store)
    journal.undoing("asked")
    for index in (1, 0):
        journal.given_back(index, Outcome.GIVEN_BACK)
    journal.end()
    return journal


def test_what_is_recorded_is_what_is_read(store: Store) -> None:
    journal = committed(store)
    assert journal.transaction == make.transaction(id=1)
    assert store.load(1) == make.transaction(id=1)
    assert store.all() == (make.transaction(id=1),)


def test_an_entry_keeps_all_that_it_has(store: Store) -> None:
    whole = make.entry(
        target=make.WHOLE_TARGET,
        old="a\tb\n\x00\udcff\u00e9",
        new="",
        kept=(make.kept(1), make.kept(2, target=make.WHOLE_TARGET)),
        outcome=Outcome.LEFT_ALONE,
        detail="managed by the kernel",
        effect=Effect.NOT_YET,
        effect_detail="idle",
        previous="<domain>\n</domain>\n",
    )
    begin(store).intend([whole])
    assert store.load(1).entries == (whole,)


def test_everything_that_can_happen_to_a_transaction(store: Store) -> None:
    journal = begin(store, deadline=make.DEADLINE)
    journal.intend([make.entry(0), make.entry(1)])
    journal.outcome(0, Outcome.CHANGED)
    journal.outcome(1, Outcome.FAILED, "no room")
    journal.effect(0, Effect.VERIFIED, "CPU 0: 17 of 17")
    journal.commit()
    assert store.load(1).awaits_confirmation
    journal.confirm()
    assert not store.load(1).awaits_confirmation
    journal.undoing("asked")
    journal.given_back(1, Outcome.YIELDED, "changed since")
    assert store.load(1).state is State.COMMITTED
    journal.end()
    entries = (
        make.entry(0, outcome=Outcome.CHANGED, effect=Effect.VERIFIED, effect_detail="CPU 0: 17 of 17"),
        make.entry(1, outcome=Outcome.YIELDED, detail="changed since"),
    )
    expected = make.transaction(
        id=1, entries=entries, state=State.UNDONE, deadline=make.DEADLINE, confirmed=True, undone_why="asked"
    )
    assert store.load(1) == journal.transaction == expected


def test_another_process_goes_on(store: Store, directory: StateDirectory) -> None:
    committed(store)
    journal = Store(directory).open(1)
    journal.undoing("not confirmed")
    journal.given_back(0, Outcome.GIVEN_BACK)
    assert store.load(1).undone_why == "not confirmed"
    assert [entry.outcome for entry in store.load(1).entries] == [Outcome.GIVEN_BACK, Outcome.CHANGED]


def test_an_unknown_transaction_is_told(store: Store) -> None:
    for look in (store.open, store.load):
        with pytest.raises(JournalError, match=r"^00000007\.journal: there is no such transaction$"):
            look(7)


def test_texts_for_people_become_one_printable_line(store: Store) -> None:
    journal = begin(store, command="tuneagent\x1b[2J\n--on eth0")
    journal.intend([replace(make.entry(), why="a\nb\udcff" + "c" * 5000)])
    journal.outcome(0, Outcome.CHANGED, "x" * 5000)
    told = store.load(1)
    assert told == journal.transaction
    assert told.command == "tuneagent\\x1b[2J --on eth0"
    assert told.entries[0].why.startswith("a b\\udcffccc")
    assert len(told.entries[0].detail) == 500

"""A journal in a real directory: what is recorded is what is read, and what was recorded stays."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
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


def test_what_a_trial_tries_is_on_trial_until_it_is_confirmed(store: Store) -> None:
    journal = begin(store, provisional=True)
    journal.intend([make.entry(0)])
    assert not store.load(1).on_trial  # it is being written
    journal.outcome(0, Outcome.CHANGED)
    journal.commit()
    assert store.load(1) == journal.transaction
    assert store.load(1).on_trial
    journal.confirm()
    assert (store.load(1).provisional, store.load(1).on_trial) == (True, False)


def test_what_a_trial_gave_back_is_no_longer_on_trial(store: Store) -> None:
    journal = begin(store, provisional=True)
    journal.intend([make.entry(0)])
    journal.outcome(0, Outcome.CHANGED)
    journal.commit()
    journal.given_back(0, Outcome.GIVEN_BACK)
    assert not store.load(1).on_trial


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


def test_numbers_never_come_again(store: Store, directory: StateDirectory) -> None:
    for _ in range(4):
        undone(store)
    store.prune(keep=2)
    assert [one.id for one in store.all()] == [3, 4]
    store.prune(keep=0)
    assert [one.id for one in store.all()] == [4]  # or the next would be a second transaction 4
    assert begin(Store(directory)).id == 5


def test_what_stands_is_never_pruned(store: Store, directory: StateDirectory) -> None:
    begin(store).intend([make.entry(0)])
    undone(store)
    committed(store)
    undone(store)
    directory.append("00000005.journal", b"damage\n", durable=False)
    directory.append("00000006.journal", b'{"record":"begin"', durable=False)
    undone(store)
    undone(store)
    store.prune(keep=1)
    assert [one.id for one in store.all()] == [1, 3, 5, 8]


def test_other_files_are_none_of_ours(store: Store, directory: StateDirectory) -> None:
    for name in ("7.journal", "00000009.journal.bak", "000000010.journal", "x-00000011.journal"):
        directory.append(name, b"what?\n", durable=False)
    assert store.all() == ()
    assert begin(store).id == 1


def test_the_last_number_is_the_end(store: Store, directory: StateDirectory) -> None:
    directory.append("999999999999999.journal", b"", durable=False)
    with pytest.raises(JournalError, match="no number comes after it"):
        begin(store)


def test_those_that_are_not_undone(store: Store) -> None:
    for make_one in (undone, begin, committed, undone):
        make_one(store)
    assert store.not_undone() == tuple(one for one in store.all() if one.id in {2, 3})


def test_one_that_cannot_be_read_hides_no_other(store: Store, directory: StateDirectory, tmp_path: Path) -> None:
    committed(store)
    directory.append("00000002.journal", b"x" * 20, durable=False)
    (tmp_path / "state/00000002.journal").chmod(0o666)
    with (tmp_path / "state/00000003.journal").open("wb") as big:
        big.truncate(17 * 1024 * 1024)
    (tmp_path / "state/00000003.journal").chmod(0o600)
    first, second, third = store.all()
    assert first == make.transaction(id=1)
    assert second.damage == "00000002.journal: others than its owner may write it"
    assert third.damage == "00000003.journal: larger than 16777216 bytes"


def test_a_damaged_journal_is_read_and_not_written(store: Store, directory: StateDirectory) -> None:
    committed(store)
    directory.append("00000001.journal", b"what?\n", durable=False)
    told = store.load(1)
    assert told.damage.startswith("00000001.journal: line 7: not JSON")
    assert replace(told, damage="") == make.transaction(id=1)
    with pytest.raises(JournalError, match=r"^00000001\.journal: line 7: not JSON") as raised:
        store.open(1)
    assert (raised.value.file, raised.value.line) == ("00000001.journal", 7)


@pytest.mark.parametrize("torn", [b'{"record":"com', b'{"record":"commit"}', b"\x00" * 300])
def test_a_torn_record_is_cut_off_before_the_next(store: Store, directory: StateDirectory, torn: bytes) -> None:
    journal = begin(store)
    journal.intend([make.entry()])
    directory.append("00000001.journal", torn, durable=False)
    again = store.open(1)
    again.undoing("interrupted")
    again.given_back(0, Outcome.GIVEN_BACK)
    again.end()
    assert store.load(1) == again.transaction
    assert again.transaction.state is State.UNDONE
    assert torn not in directory.read("00000001.journal")


@pytest.mark.parametrize("content", [b"", b'{"record":"begin","at_n'])
def test_one_that_did_not_begin_is_no_transaction(store: Store, directory: StateDirectory, content: bytes) -> None:
    directory.append("00000001.journal", content, durable=False)
    assert store.all() == ()
    for look in (store.open, store.load):
        with pytest.raises(JournalError, match=r"^00000001\.journal: nothing was recorded in it$"):
            look(1)
    assert begin(store).id == 2


def test_an_undo_that_is_tried_for_years_needs_no_room(store: Store, directory: StateDirectory) -> None:
    committed(store)
    sizes = set()
    for _ in range(3):
        journal = store.open(1)
        journal.undoing("asked")
        journal.given_back(1, Outcome.STUCK, "Device or resource busy" * 40)
        sizes.add(len(directory.read("00000001.journal")))
    assert len(sizes) == 1
    assert store.load(1).entries[1].outcome is Outcome.STUCK


def test_what_cannot_be_is_the_callers_fault_and_not_recorded(store: Store, directory: StateDirectory) -> None:
    journal = committed(store)
    before = directory.read("00000001.journal")
    with pytest.raises(ValueError, match="never announced"):
        journal.given_back(7, Outcome.GIVEN_BACK)
    with pytest.raises(ValueError, match="committed already"):
        journal.intend([make.entry(7)])
    assert directory.read("00000001.journal") == before
    assert journal.transaction == store.load(1) == make.transaction(id=1)


def test_a_journal_takes_no_more_than_will_be_read(store: Store) -> None:
    journal = begin(store)
    with pytest.raises(OSError, match="more than 4096 changes"):
        journal.intend([make.entry(index) for index in range(4097)])
    with pytest.raises(OSError, match="a record of more than 1048576 bytes"):
        journal.intend([make.entry(previous="\x00" * 200_000)])
    with pytest.raises(OSError, match="more than 8388608 bytes in one journal"):
        journal.intend([make.entry(index, previous="x" * 1_000_000) for index in range(9)])
    assert journal.transaction.entries == ()
    journal.intend([make.entry(index, previous="x" * 1_000_000) for index in range(8)])
    for index in range(8):
        journal.outcome(index, Outcome.CHANGED)  # what was announced can always be told
    assert store.load(1) == journal.transaction
    assert len(store.load(1).entries) == 8


FULL = """
set -e
mount -t tmpfs -o size=64k,mode=755 none "$1"
exec "$0" -m tests.apply.test_journal "$1"
"""


def fill(root: str) -> dict[str, Any]:
    """Runs on a disk of 64 KiB: announces changes until it is full, then goes on when there is room again."""
    store = Store(StateDirectory("/state", root=root))
    journal = begin(store)
    journal.intend([make.entry(0)])
    announced = 1
    said = None
    before = journal.transaction
    while said is None:
        before = journal.transaction
        try:
            journal.intend([make.entry(announced + place, previous="x" * 3000) for place in range(3)])
            announced += 3
        except OSError as error:
            said = error.errno
    seen = {"errno": said, "announced": announced, "kept": store.load(1) == before == journal.transaction}
    Path(root, "ballast").unlink()
    journal.undoing("failed")
    for index in reversed(range(announced)):
        journal.given_back(index, Outcome.GIVEN_BACK)
    journal.end()
    return seen | {"undone": store.load(1) == journal.transaction, "state": store.load(1).state}


@pytest.mark.namespaces
def test_a_full_disk_leaves_what_was_recorded(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", FULL, sys.executable, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen.pop("announced") > 3
    assert seen == {"errno": errno.ENOSPC, "kept": True, "undone": True, "state": "undone"}


class Failing(StateDirectory):
    """A disk on which a record gets there in part, and nobody can take that away again."""

    broken = False

    def append(self, name: str, data: bytes, *, durable: bool, new: bool = False) -> None:
        if self.broken:
            super().append(name, data[: len(data) * 2 // 3], durable=durable, new=new)
            raise OSError(errno.EIO, "Input/output error", name)
        super().append(name, data, durable=durable, new=new)


def test_what_got_there_in_part_is_known(tmp_path: Path) -> None:
    disk = Failing("/state", root=str(tmp_path))
    store = Store(disk)
    journal = begin(store)
    journal.intend([make.entry(0)])
    disk.broken = True
    with pytest.raises(OSError, match="Input/output error"):
        journal.intend([make.entry(1), make.entry(2), make.entry(3)])
    assert len(journal.transaction.entries) == 3  # two of the three are on the disk: the undo has to look at them
    assert store.load(1) == journal.transaction
    with pytest.raises(OSError, match="Input/output error"):
        journal.outcome(0, Outcome.CHANGED)
    assert store.load(1) == journal.transaction
    assert journal.transaction.entries[0].outcome is Outcome.INTENDED
    disk.broken = False
    journal.outcome(0, Outcome.CHANGED)
    assert store.load(1) == journal.transaction
    assert journal.transaction.damage == ""
    assert [entry.outcome for entry in journal.transaction.entries] == [Outcome.CHANGED, *[Outcome.INTENDED] * 2]


if __name__ == "__main__":
    Path(sys.argv[1], "ballast").write_bytes(b"x" * 16_384)
    json.dump(fill(sys.argv[1]), sys.stdout)


def test_nothing_stands_of_what_ended_where_a_full_disk_took_no_more_than_the_end(store: Store) -> None:
    journal = committed(store)
    assert store.load(1).stands
    journal.end()
    assert not store.load(1).stands

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from tests import trees
from tests.apply import killing
from tests.apply.killing import BOOT, FaultyRoot, FullDirectory, Site
from tests.apply.test_kills import QUEUES, wanted
from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.irq_affinity import IrqAffinity
from tuneagent.apply.journal import Journal, Store
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.apply.registry import actuators
from tuneagent.apply.standing import Look, facts
from tuneagent.apply.transaction import Failed, Wanted, Work, run
from tuneagent.apply.undo import Undoing
from tuneagent.machine.sysroot import Sysroot
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Outcome, Standing, State, Transaction, Writer

WRITER = Writer(1, 1, "root")
PINS = tuple(one for one in wanted() if one.change.kind is TunableKind.IRQ_AFFINITY)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return trees.guest(tmp_path / "root", cpus=QUEUES, queues=QUEUES)


def path_of(key: str) -> str:
    return f"/proc/irq/{trees.Guest(cpus=QUEUES, queues=QUEUES).irq(key)}/smp_affinity_list"


def apply(
    tree: Path, want: Sequence[Wanted], files: WritableRoot, waits: list[float] | None = None
) -> Transaction | None:
    source = Sysroot(str(tree))
    machine = Machine(source, files, Lookup(source))
    known = facts(Site(tree).store().all(), BOOT)
    wait = waits.append if waits is not None else lambda _: None
    return run(Work(machine, actuators(machine), Site(tree).begin, wait, 0.0, known), lambda: want)


def outcomes(transaction: Transaction | None) -> dict[str, Outcome]:
    assert transaction is not None
    return {f"{one.target.queue_role}.{one.target.queue}": one.outcome for one in transaction.entries}


@pytest.mark.parametrize("number", [errno.EIO, errno.EPERM])
def test_an_interrupt_that_the_kernel_fixes_is_left_alone_and_not_tried_again(tree: Path, number: int) -> None:
    before = killing.content(tree)
    files = FaultyRoot(str(tree), {path_of("input.2"): number})
    made = apply(tree, PINS, files)
    assert outcomes(made).pop("input.2") is Outcome.LEFT_ALONE
    assert len(files.written) == len(PINS) - 1
    again = FaultyRoot(str(tree), {})
    assert apply(tree, PINS, again) is None
    assert again.written == []
    Site(tree).undo()
    assert killing.content(tree) == before


def test_a_file_that_nobody_may_write_is_never_written(tmp_path: Path) -> None:
    tree = trees.guest(tmp_path / "root", cpus=QUEUES, queues=QUEUES, fixed=frozenset({"output.1"}))
    files = FaultyRoot(str(tree), {})
    assert outcomes(apply(tree, PINS, files))["output.1"] is Outcome.LEFT_ALONE
    assert path_of("output.1") not in dict(files.written)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_sandbox_stops_at_its_first_refusal(tree: Path, number: int) -> None:
    before = killing.content(tree)
    files = FaultyRoot(str(tree), {path_of(f"{side}.{q}"): number for side in ("input", "output") for q in range(8)})
    with pytest.raises(Failed) as caught:
        apply(tree, PINS, files)
    assert caught.value.forbidden
    assert files.written == []
    assert killing.content(tree) == before


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOVERFLOW, errno.ENOMEM])
def test_a_failure_half_way_gives_back_what_was_written(tree: Path, number: int) -> None:
    before = killing.content(tree)
    files = FaultyRoot(str(tree), {path_of("output.6"): number})
    with pytest.raises(Failed) as caught:
        apply(tree, PINS, files)
    assert not caught.value.forbidden
    assert caught.value.transaction is not None
    assert caught.value.transaction.state is State.UNDONE
    assert len(files.written) > 2
    assert killing.content(tree) == before
    assert Site(tree).store().all()[-1].state is State.UNDONE


def test_where_a_cpu_has_no_vector_another_is_taken_and_that_is_given_back_too(tree: Path) -> None:
    before = killing.content(tree)

    class NoVectors(WritableRoot):
        def write_value(self, path: str, text: str) -> None:
            if path == path_of("input.0") and text.strip() in {"1", "5"}:
                raise OSError(errno.ENOSPC, "No space left on device", path)
            super().write_value(path, text)

    choosy = [replace(one, change=replace(one.change, elsewhere=("5", "6"))) for one in PINS]
    made = apply(tree, choosy, NoVectors(str(tree)))
    assert made is not None
    ours = [(one.new, one.outcome) for one in made.entries if one.where == path_of("input.0")]
    assert ours == [("1", Outcome.DEFERRED), ("5", Outcome.DEFERRED), ("6", Outcome.CHANGED)]
    Site(tree).undo()
    assert killing.content(tree) == before


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EAGAIN])
def test_a_busy_kernel_is_asked_again_and_then_later(tree: Path, number: int) -> None:
    waits: list[float] = []
    made = apply(tree, PINS, FaultyRoot(str(tree), {path_of("input.3"): number}), waits)
    assert outcomes(made)["input.3"] is Outcome.DEFERRED
    assert len(waits) > 1
    assert outcomes(apply(tree, PINS, WritableRoot(str(tree))))["input.3"] is Outcome.CHANGED


def test_an_interrupt_that_vanished_is_told_and_the_others_go_on(tree: Path) -> None:
    made = apply(tree, PINS, FaultyRoot(str(tree), {path_of("input.4"): errno.ENOENT}))
    assert outcomes(made)["input.4"] is Outcome.GONE
    assert list(outcomes(made).values()).count(Outcome.CHANGED) == len(PINS) - 1


def test_what_appears_while_it_writes_is_planned_again_and_found(tree: Path) -> None:
    irq = trees.Guest(cpus=QUEUES, queues=QUEUES).irq("input.2")
    rows = tree / "proc/interrupts"
    late, actions = rows.read_text(), tree / f"sys/kernel/irq/{irq}/actions"
    rows.write_text("".join(row for row in late.splitlines(keepends=True) if not row.startswith(f" {irq}:")))
    named = actions.read_text()
    actions.write_text("")
    early = [one for one in PINS if (one.change.target.queue_role, one.change.target.queue) != ("input", 2)]
    passes = 0

    def plan() -> Sequence[Wanted]:
        nonlocal passes
        passes += 1
        if passes == 1:
            return early
        rows.write_text(late)
        actions.write_text(named)
        return PINS

    source = Sysroot(str(tree))
    machine = Machine(source, WritableRoot(str(tree)), Lookup(source))
    made = run(Work(machine, actuators(machine), Site(tree).begin, lambda _: None, 0.0), plan)
    assert outcomes(made) == dict.fromkeys(outcomes(made), Outcome.CHANGED)
    assert len(outcomes(made)) == len(PINS)


def test_a_policy_that_wants_back_what_another_has_just_changed_is_named(tree: Path) -> None:
    before = killing.content(tree)
    (spread,) = (one for one in wanted() if one.change.kind is TunableKind.RPS_CPUS and one.change.target.queue == 1)
    back = Wanted("off", replace(spread.change, new="0"))
    plans = iter([[replace(spread, policy="spread")], [back], [back]])
    source = Sysroot(str(tree))
    machine = Machine(source, WritableRoot(str(tree)), Lookup(source))
    with pytest.raises(Failed) as caught:
        run(Work(machine, actuators(machine), Site(tree).begin, lambda _: None, 0.0), lambda: next(plans))
    assert "spread sets '3', and off wants '0'; ask for one of them" in caught.value.reason
    assert killing.content(tree) == before


def of_two(second: str) -> list[Wanted]:
    """One map of a queue as two policies want it at the same time."""
    (first,) = (one for one in wanted() if one.change.kind is TunableKind.RPS_CPUS and one.change.target.queue == 1)
    return [replace(first, policy="spread"), Wanted("other", replace(first.change, new=second))]


def test_two_policies_at_odds_are_named_before_anything_is_written(tree: Path) -> None:
    files = FaultyRoot(str(tree), {})
    with pytest.raises(Failed, match="spread sets '3', and other wants '5'; ask for one of them") as caught:
        apply(tree, of_two("5"), files)
    assert (caught.value.transaction, files.written) == (None, [])


def test_what_two_policies_want_is_written_once(tree: Path) -> None:
    files = FaultyRoot(str(tree), {})
    made = apply(tree, of_two("03"), files)
    assert made is not None
    assert [one.policy for one in made.entries] == ["spread"]
    assert [value for _, value in files.written] == ["3\n"]


class Busy(IrqAffinity):
    """Cannot be looked at for as long as it is told to be so."""

    locating: ClassVar[bool] = False
    reading: ClassVar[bool] = False

    def locate(self, kind: TunableKind, target: Target) -> Place:
        if self.locating and target.queue == 0:
            raise Refusal(Why.LATER, "busy")
        return super().locate(kind, target)

    def read(self, place: Place) -> str:
        if self.reading and super().read(place) == "7":
            raise Refusal(Why.LATER, "busy")
        return super().read(place)


def made_with(
    tree: Path, actuator: type[IrqAffinity], plan: Sequence[Wanted], files: WritableRoot
) -> Transaction | None:
    source = Sysroot(str(tree))
    machine = Machine(source, files, Lookup(source))
    return run(
        Work(machine, {TunableKind.IRQ_AFFINITY: actuator(machine)}, Site(tree).begin, lambda _: None, 0.0),
        lambda: plan,
    )


def test_what_was_never_tried_is_never_given_back(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tree / path_of("input.0")[1:]
    file.write_text(f"{PINS[0].change.new}\n")  # as it is wanted, by somebody else's hand
    before = killing.content(tree)
    monkeypatch.setattr(Busy, "locating", True)
    made = made_with(tree, Busy, PINS, WritableRoot(str(tree)))
    assert outcomes(made)["input.0"] is Outcome.DEFERRED
    (undone,) = Site(tree).undo()
    assert outcomes(undone)["input.0"] is Outcome.DEFERRED
    assert killing.content(tree) == before


def test_what_cannot_be_read_back_is_given_back_with_the_rest(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = killing.content(tree)
    monkeypatch.setattr(Busy, "reading", True)
    with pytest.raises(Failed, match="busy"):
        made_with(tree, Busy, PINS, WritableRoot(str(tree)))
    monkeypatch.setattr(Busy, "reading", False)
    Site(tree).undo()
    assert killing.content(tree) == before


def test_a_fault_of_ours_in_one_place_keeps_nothing_else_from_being_given_back(tree: Path) -> None:
    class Faulty(WritableRoot):
        def write_value(self, path: str, text: str) -> None:
            if path == path_of("output.5"):
                raise KeyError("of ours")
            super().write_value(path, text)

    Site(tree).apply(PINS)
    source = Sysroot(str(tree))
    machine = Machine(source, Faulty(str(tree)), Lookup(source))
    undone = Undoing(machine, actuators(machine), lambda _: None).undo(Site(tree).store().open(1), "asked")
    stuck = [one for one in undone.entries if one.outcome is Outcome.STUCK]
    assert [one.detail for one in stuck] == ["a fault of this program: KeyError: 'of ours'"]
    assert list(outcomes(undone).values()).count(Outcome.GIVEN_BACK) == len(PINS) - 1


def test_a_write_that_did_not_arrive_is_a_failure(tree: Path) -> None:
    class Deaf(WritableRoot):
        def write_value(self, path: str, text: str) -> None:
            if path != path_of("output.5"):
                super().write_value(path, text)

    before = killing.content(tree)
    with pytest.raises(Failed, match="was written and '5' is read"):
        apply(tree, PINS, Deaf(str(tree)))
    assert killing.content(tree) == before


def test_a_second_apply_writes_nothing_and_leaves_no_journal(tree: Path) -> None:
    Site(tree).apply(wanted())
    files = FaultyRoot(str(tree), {})
    assert apply(tree, wanted(), files) is None
    assert files.written == []
    assert len(Site(tree).store().all()) == 1


def with_room_for(tree: Path, records: int) -> str:
    """Applies on a disk that is full after so many records; why it failed, empty where it did not."""
    source = Sysroot(str(tree))
    machine = Machine(source, WritableRoot(str(tree)), Lookup(source))
    store = Store(FullDirectory(str(tree), records))

    def begin() -> Journal:
        return store.begin(boot_id=BOOT, version="1", writer=WRITER, command="", deadline=None, now_ns=1)

    try:
        run(Work(machine, actuators(machine), begin, lambda _: None, 0.0), wanted)
    except Failed as failed:
        return failed.reason
    return ""


@pytest.mark.timeout(600)
def test_a_full_disk_at_every_record_leaves_all_old_or_all_new(tree: Path) -> None:
    before = killing.content(tree)
    records = 0
    while reason := with_room_for(tree, records):
        assert "journal cannot be written: No space left" in reason
        assert killing.content(tree) == before
        Site(tree).undo()
        assert killing.content(tree) == before
        records += 1
    assert records > len(wanted())
    Site(tree).undo()
    assert killing.content(tree) == before


def test_undo_on_a_full_disk_gives_back_all_the_same(tree: Path) -> None:
    before = killing.content(tree)
    Site(tree).apply(wanted())
    source = Sysroot(str(tree))
    machine = Machine(source, WritableRoot(str(tree)), Lookup(source))
    undone = Undoing(machine, actuators(machine), lambda _: None, BOOT).undo(
        Store(FullDirectory(str(tree), 0)).open(1), "asked"
    )
    assert undone.state is State.UNDONE
    assert killing.content(tree) == before


def test_an_administrators_later_change_is_left_and_told(tree: Path) -> None:
    before = killing.content(tree)
    Site(tree).apply(PINS)
    theirs = tree / path_of("input.1")[1:]
    theirs.write_text("7\n")
    (undone,) = Site(tree).undo()
    assert outcomes(undone)["input.1"] is Outcome.YIELDED
    assert theirs.read_text() == "7\n"
    theirs.write_bytes(before[path_of("input.1")[1:]])
    assert killing.content(tree) == before


def status(tree: Path, boot: str = BOOT) -> Iterator[tuple[str, Standing]]:
    machine = Site(tree).machine()
    for one in Look(actuators(machine), boot).at_each(Site(tree).store().all(), lambda _: False):
        for entry in one.entries:
            yield f"{one.transaction.id} {entry.entry.target.queue_role}.{entry.entry.target.queue}", entry.standing


def test_the_standing_of_each_change_is_looked_up_again(tree: Path) -> None:
    Site(tree).apply(PINS)
    assert set(dict(status(tree)).values()) == {Standing.NOT_YET}  # no interrupt came since: a tree stands still
    (tree / path_of("input.1")[1:]).write_text("7\n")
    (tree / path_of("output.1")[1:]).write_text("1\n")
    now = dict(status(tree))
    assert now["1 input.1"] is Standing.DRIFTED
    assert now["1 output.1"] is Standing.BACK
    assert set(dict(status(tree, "another-boot")).values()) == {Standing.ENDED}


def test_what_a_later_transaction_set_is_no_drift(tree: Path) -> None:
    Site(tree).apply(PINS)
    moved = [replace(one, change=replace(one.change, new="0")) for one in PINS[:1]]
    Site(tree).apply(tuple(moved))
    now = dict(status(tree))
    key = f"{PINS[0].change.target.queue_role}.{PINS[0].change.target.queue}"
    assert now[f"1 {key}"] is Standing.NOT_OURS
    assert now[f"2 {key}"] is Standing.IN_FORCE  # its effective CPU is 0 in this tree


def test_a_reboot_ends_what_is_the_kernels_and_nothing_is_written(tree: Path) -> None:
    Site(tree).apply(PINS)
    after = killing.content(tree)
    machine = Site(tree).machine()
    closed = Undoing(machine, actuators(machine), lambda _: None, "another-boot").close_ended(
        Site(tree).store().open(1)
    )
    assert set(outcomes(closed).values()) == {Outcome.ENDED}
    assert closed.state is State.UNDONE
    assert killing.content(tree) == after


def test_contradicted_by_where_interrupts_land(tree: Path) -> None:
    """The counts say that interrupts still come elsewhere: the pins are taken back."""
    before = killing.content(tree)

    class Elsewhere(WritableRoot):
        def write_value(self, path: str, text: str) -> None:
            super().write_value(path, text)
            self.counted = True

    class Growing(Sysroot):
        looks = 0

        def read(self, path: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - the same as above
            text = super().read(path)
            if path != "/proc/interrupts":
                return text
            Growing.looks += 50
            lines = [_grown(line, Growing.looks) for line in text.text.split("\n")]
            return replace(text, text="\n".join(lines))

    source = Growing(str(tree))
    machine = Machine(source, Elsewhere(str(tree)), Lookup(source))
    with pytest.raises(Failed, match="interrupts since the write came to CPU"):
        run(Work(machine, actuators(machine), Site(tree).begin, lambda _: None, 0.0), lambda: PINS)
    assert killing.content(tree) == before
    assert Effect.CONTRADICTED in {one.effect for one in Site(tree).store().all()[-1].entries}


def _grown(line: str, count: int) -> str:
    """The row with so many more interrupts on the last CPU."""
    fields = line.split()
    if "-input." not in line and "-output." not in line:
        return line
    fields[QUEUES] = str(int(fields[QUEUES]) + count)
    return " ".join(fields)

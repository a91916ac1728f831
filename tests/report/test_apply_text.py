"""What an apply, a check, a confirm and a rollback say; made in memory, hostile texts among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.report import reports
from tuneagent.model.apply_report import ApplyReport, Command, PlannedChange, Result, StatusReport
from tuneagent.model.plan import Declined, Target, TunableKind
from tuneagent.model.transaction import (
    Deadline,
    Effect,
    Entry,
    EntryStatus,
    Lasts,
    Outcome,
    Standing,
    State,
    Transaction,
    TransactionStatus,
    Writer,
)
from tuneagent.report import apply_text, plain, status_text, terminal

HOSTILE = "\x1b[2J\u202e\n<b>" + "x" * 9000
BEGAN_NS = 1_700_000_000 * 10**9


def entry(index: int = 0, **changes: Any) -> Entry:
    target = Target("0000:00:03.0", "virtio0", "52:54:00:12:34:56", 0, "input", interface="eth0", irq=31 + index)
    base = Entry(
        index=index,
        policy="pin-queue-interrupts",
        kind=TunableKind.IRQ_AFFINITY,
        target=target,
        where=f"/proc/irq/{31 + index}/smp_affinity_list",
        old="0-3",
        new=str(index),
        why="a CPU of its own",
        lasts=Lasts.BOOT,
        outcome=Outcome.CHANGED,
        effect=Effect.VERIFIED,
        effect_detail="it goes there",
    )
    return replace(base, **changes)


def transaction(*entries: Entry, **changes: Any) -> Transaction:
    writer = Writer(4711, 99, "root (sudo: alice)")
    base = Transaction(
        12, BEGAN_NS, "boot", "0.1", writer, "tuneagent apply pin", entries or (entry(0), entry(1)), State.COMMITTED
    )
    return replace(base, **changes)


def report(command: Command, result: Result, **more: Any) -> ApplyReport:
    return ApplyReport("0.1", "this machine", command, result, **more)


def text(made: ApplyReport, *, diff: bool = False) -> str:
    return plain.write(apply_text.document(made, diff=diff))


STUCK = entry(1, outcome=Outcome.STUCK, detail="Device or resource busy")
BACK = entry(0, outcome=Outcome.GIVEN_BACK)


@pytest.mark.parametrize(
    ("made", "first"),
    [
        (report(Command.APPLY, Result.APPLIED, transactions=(transaction(),)), "Applied: 2 changes made."),
        (report(Command.APPLY, Result.ALREADY_SO), "Already so: nothing was written."),
        (report(Command.APPLY, Result.DECLINED), "Nothing can be done here: nothing was written."),
        (
            report(Command.APPLY, Result.FAILED, reason="no root"),
            "Failed, and nothing was changed: no root.",
        ),
        (
            report(Command.APPLY, Result.FAILED, reason="EINVAL.", transactions=(transaction(BACK),)),
            "Failed, and everything was given back: EINVAL.",
        ),
        (
            report(Command.APPLY, Result.STUCK, reason="EIO", transactions=(transaction(BACK, STUCK),)),
            "Failed, and 1 change still in force and could not be given back: EIO.",
        ),
        (
            report(Command.ROLLBACK, Result.STUCK, transactions=(transaction(BACK, STUCK),)),
            "Not undone whole: 1 change still in force and could not be given back.",
        ),
        (
            report(Command.ROLLBACK, Result.UNDONE, transactions=(transaction(BACK), transaction(BACK, id=11))),
            "Transactions 12, 11 are undone: 2 changes given back.",
        ),
        (
            report(Command.CONFIRM, Result.CONFIRMED, transactions=(transaction(),)),
            "Transaction 12 is confirmed: it stays.",
        ),
        (report(Command.CONFIRM, Result.TOO_LATE, reason="it is undone"), "Too late: it is undone."),
        (report(Command.ROLLBACK, Result.NOTHING, reason="nothing stands"), "Nothing to do: nothing stands."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_first_line_is_the_outcome(made: ApplyReport, first: str) -> None:
    assert text(made).splitlines()[0] == first


def test_every_result_has_its_words() -> None:
    for result in Result:
        assert apply_text.headline(report(Command.APPLY, result)).endswith(".")


def test_a_row_has_old_and_new_and_what_became_of_it_in_this_order() -> None:
    shown = text(report(Command.APPLY, Result.APPLIED, transactions=(transaction(),)))
    rows = [" ".join(line.split()) for line in shown.splitlines()]

    assert "/proc/irq/32/smp_affinity_list 0-3 1 changed, in effect: it goes there" in rows


def test_with_a_deadline_the_way_to_keep_it_comes_first() -> None:
    until = Deadline(BEGAN_NS + 90 * 10**9, 5, 90.0)
    lines = text(
        report(Command.APPLY, Result.APPLIED, transactions=(transaction(deadline=until),), options="--sysroot 'a b'")
    ).splitlines()

    assert lines[0] == "Applied: 2 changes made. It is undone at 22:14:50 UTC unless it is confirmed within 90 s."
    assert [line.split(" ", 1)[0] for line in lines[-3:]] == ["Confirm:", "Undo:", "Look:"]
    assert lines[-2] == "Undo: tuneagent rollback 12 --sysroot 'a b'"


def test_what_was_left_in_the_middle_is_told_before_the_rest() -> None:
    earlier = transaction(BACK, id=11, undone_why="interrupted", state=State.UNDONE)
    words = text(report(Command.APPLY, Result.ALREADY_SO, recovered=(earlier,)))

    assert "Transaction 11: it was left in the middle and was undone first: 1 change given back" in words


def test_a_check_tells_elements_as_they_are() -> None:
    changed = replace(reports.change(), diff=("  <interface>", "- <driver/>", "+ <driver event_idx='on'/>"))
    planned = (PlannedChange("event-index-on", "domain web vnet0", changed),)
    lines = text(report(Command.CHECK, Result.WOULD_CHANGE, planned=planned)).splitlines()

    assert lines[0] == "1 change would be made; nothing was written."
    assert "    + <driver event_idx='on'/>" in lines


@pytest.mark.parametrize("diff", [False, True])
def test_nothing_that_a_machine_or_file_says_steers_a_terminal(*, diff: bool) -> None:
    bad = entry(0, policy=HOSTILE, where=HOSTILE, old=HOSTILE, new=HOSTILE, why=HOSTILE, effect_detail=HOSTILE)
    hostile = transaction(
        bad,
        replace(bad, index=1, outcome=Outcome.LEFT_ALONE, detail=HOSTILE),
        version=HOSTILE,
        command=HOSTILE,
        writer=Writer(1, 1, HOSTILE),
        damage=HOSTILE,
    )
    change = replace(reports.change(), where=HOSTILE, old=HOSTILE, new=HOSTILE, why=HOSTILE)
    made = replace(
        report(Command.APPLY, Result.APPLIED, transactions=(hostile,), recovered=(hostile,)),
        origin=HOSTILE,
        reason=HOSTILE,
        planned=(PlannedChange(HOSTILE, HOSTILE, change), PlannedChange("", "", replace(change, diff=(HOSTILE,)))),
        declined=(Declined(HOSTILE, HOSTILE, HOSTILE),) * 60,
        notes=(HOSTILE,) * 30,
        options=HOSTILE,
    )
    for result in Result:
        shown = text(replace(made, result=result), diff=diff)
        assert all(line.isprintable() for line in shown.split("\n"))
        assert HOSTILE[:4] not in terminal.write(apply_text.document(replace(made, result=result), diff=diff), 80)


def status(*entries: EntryStatus, made: Transaction | None = None, runs: bool = False) -> TransactionStatus:
    return TransactionStatus(made or transaction(), entries, runs)


def stands(standing: Standing, now: str | None = "0", detail: str = "") -> EntryStatus:
    return EntryStatus(entry(), standing, now, "/proc/irq/41/smp_affinity_list", detail)


def told(*statuses: TransactionStatus, **more: Any) -> str:
    made = StatusReport("0.1", "this machine", "/var/lib/tuneagent", statuses, **more)
    return plain.write(status_text.document(made))


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (told(), "Nothing of tuneagent's stands here (journals: /var/lib/tuneagent)."),
        (
            told(status(stands(Standing.IN_FORCE), stands(Standing.NOT_YET))),
            "As applied: 1 in force, 1 not yet in effect.",
        ),
        (told(status(stands(Standing.DRIFTED, "3"))), "Drifted: 1 change no longer as applied."),
        (
            told(status(made=transaction(state=State.OPEN))),
            "Transaction 12 interrupted: run tuneagent rollback 12.",
        ),
        (
            told(status(), overdue=frozenset({12})),
            "Transaction 12 was not confirmed in time: run tuneagent rollback 12.",
        ),
        (
            told(status(made=transaction(damage="line 3: no"))),
            "A journal is damaged: what it changed cannot all be told.",
        ),
        (
            told(status(made=transaction(deadline=Deadline(BEGAN_NS, 1, 9.0)))),
            "Transaction 12 is undone at 2023-11-14 22:13:20 UTC unless it is confirmed.",
        ),
    ],
    ids=lambda value: value.splitlines()[0][:30],
)
def test_the_first_line_of_a_status(words: str, first: str) -> None:
    assert words.splitlines()[0] == first


def test_a_status_tells_what_stands_there_now_and_who_did_it() -> None:
    words = told(status(stands(Standing.DRIFTED, "3", "irqbalance runs and may move it")))

    row = next(line for line in words.splitlines() if "/proc/irq/41" in line)
    assert row.split()[:3] == ["/proc/irq/41/smp_affinity_list", "0", "3"]
    assert row.endswith("DRIFTED: irqbalance runs and may move it")
    assert "Apply it again: tuneagent apply pin" in words


def test_a_hostile_status_steers_no_terminal() -> None:
    bad = EntryStatus(entry(new=HOSTILE), Standing.DRIFTED, HOSTILE, HOSTILE, HOSTILE)
    shown = told(status(bad, made=transaction(command=HOSTILE, damage=HOSTILE)), notes=(HOSTILE,), options=HOSTILE)

    assert all(line.isprintable() for line in shown.split("\n"))


@pytest.mark.parametrize("ns", [None, -1, 10**30, 0])
def test_a_time_that_cannot_be_is_unknown(ns: int | None) -> None:
    words = text(report(Command.CONFIRM, Result.CONFIRMED, transactions=(transaction(began_ns=ns),)))

    assert ("1970-01-01 00:00:00 UTC" if ns == 0 else "unknown, by root") in words

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make_trials
from tuneagent.model.history import TrialSummary
from tuneagent.model.trial import Decision, TrialState
from tuneagent.report import history_json, history_text, plain

ROW = TrialSummary(
    id=7,
    began_ns=make_trials.BEGAN_NS,
    ended_ns=make_trials.BEGAN_NS + 1,
    version="0.1.0",
    policy="pin-queue-interrupts",
    subject="eth0",
    title="Pin",
    primary="transactions_per_sec",
    state=TrialState.DONE,
    decision=Decision.KEEP,
    kept=True,
    transaction=5,
    percent=73.4,
    low_percent=57.5,
    high_percent=91.0,
    pairs=12,
    rounds=25,
    origin="",
)


def text(*rows: TrialSummary, total: int | None = None, offset: int = 0) -> str:
    return plain.write(history_text.document(rows, len(rows) if total is None else total, offset, "/x/trials.db"), 120)


def test_a_row_says_what_came_of_it() -> None:
    line = " ".join(text(ROW).splitlines()[1].split())

    assert line == "7 2026-01-01 00:00:00 pin-queue-interrupts eth0 keep transactions/s +73.4 % +57.5 to +91.0 % 12"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (ROW, "keep"),
        (replace(ROW, kept=False), "keep, taken back"),
        (replace(ROW, decision=Decision.UNDECIDED, kept=False), "undecided"),
        (replace(ROW, decision=Decision.UNDECIDED, kept=True), "undecided, kept"),
        (replace(ROW, decision=Decision.REVERT, kept=False), "revert"),
        (replace(ROW, state=TrialState.INTERRUPTED, decision=None), "interrupted"),
        (replace(ROW, state=TrialState.FAILED, decision=None, kept=False), "failed"),
        (replace(ROW, decision=None), "done"),
    ],
)
def test_came_to(row: TrialSummary, said: str) -> None:
    assert history_text.came_to(row) == said


def test_a_page_says_where_the_rest_is() -> None:
    report = text(ROW, ROW, total=9, offset=4)

    assert "5 to 6 of 9 trials in /x/trials.db." in report
    assert "Older: tuneagent history --offset 6" in report
    assert "Older:" not in text(ROW, total=1)


def test_none_is_said() -> None:
    assert text() == "No trial in /x/trials.db.\n"
    assert text(total=3, offset=9) == "No more than 3 trials in /x/trials.db.\n"


def test_names_cannot_steer_the_terminal() -> None:
    assert all(line.isprintable() for line in text(replace(ROW, policy="\x1b[2J", subject="\u202e" * 99)).splitlines())


def test_json_has_the_rows() -> None:
    made = history_json.to_json([ROW], 9, 4, "/x", "0.1.0")

    assert (made["schema"], made["total"], made["offset"]) == ("tuneagent.history/1", 9, 4)
    assert made["trials"][0]["decision"] == "keep"
    assert made["trials"][0]["began_ns"] == make_trials.BEGAN_NS

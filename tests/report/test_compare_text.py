from __future__ import annotations

import re
from dataclasses import replace

from tests import make_trials
from tuneagent.model.load import LoadKind
from tuneagent.report import compare_text, plain
from tuneagent.report import trial_words as words


def row(report: str, start: str) -> list[str]:
    line = next(line for line in report.splitlines() if line.strip().startswith(start))
    return re.split(r"\s{2,}", line.strip())


def test_two_trials_stand_side_by_side() -> None:
    report = plain.write(compare_text.document(make_trials.pin(), make_trials.e1("irqbalance", 3)), 160)

    assert "Trial 7, pin-queue-interrupts on eth0" in report
    assert "Trial 3, irqbalance on eth0" in report
    assert row(report, "transactions/s") == [
        "transactions/s",
        "1,326",
        "+73.4 %",
        "+57.5 to +91.0 %",
        "87,118",
        "+23.5 %",
        "+22.4 to +24.6 %",
        "apart",
    ]
    assert row(report, words.title("cpu_per_transaction_us"))[4:] == ["-", "-", "-", "not in both"]
    assert "The same load on the same machine" in report


def test_effects_that_may_be_the_same_overlap() -> None:
    first, second = make_trials.e1("event-index"), make_trials.e1("event-index-irqbalance", 2)
    made = compare_text.to_json(first, second, "1")
    by_name = {one["metric"]: one["effects"] for one in made["metrics"]}

    assert by_name["transactions_per_sec"] == "overlap"
    assert by_name["exits_per_transaction"] == "apart"


def test_an_unknown_interval_is_neither() -> None:
    verdict = make_trials.pin().verdict
    assert verdict is not None
    assert verdict.primary is not None
    short = replace(verdict.primary, low_percent=None)

    assert compare_text.apart(short, verdict.primary) == "unknown"
    assert compare_text.apart(verdict.primary, verdict.primary) == "overlap"


def test_two_trials_of_one_name_that_changed_other_things_say_so() -> None:
    first = make_trials.pin(1)
    turned = tuple(replace(one, old=one.new, new=one.old or "") for one in first.question.changes)
    second = replace(make_trials.pin(2), question=replace(first.question, changes=turned))
    told = {what: (a, b) for what, a, b in compare_text.differences(first, second)}
    assert told["what B changes"][0] != told["what B changes"][1]
    assert "→" in told["what B changes"][0]


def test_what_else_differs_is_told() -> None:
    first, second = make_trials.pin(1), make_trials.pin(2)
    asked = replace(second.question, round_s=3.0, load=replace(second.question.load, kind=LoadKind.UDP_RR))
    second = replace(second, question=asked, facts={**second.facts, "QEMU": "7.2", "mitigations": "off"})

    report = plain.write(compare_text.document(first, second), 160)

    assert "What else differs, and may be why" in report
    assert row(report, "QEMU") == ["QEMU", "10.0.2", "7.2"]
    assert row(report, "mitigations") == ["mitigations", "-", "off"]
    assert row(report, "round ") == ["round", "6 s after 1.5 s", "3 s after 1.5 s"]
    assert row(report, "Load")[1].startswith("tcp-rr")
    assert "queues" not in report.partition("What else differs")[2]

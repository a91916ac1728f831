from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests import make_trials
from tuneagent.model.load import LoadKind, LoadSpec
from tuneagent.model.trial import Decision, Effect, GuardResult, Trial, TrialState
from tuneagent.report import plain, trial_text
from tuneagent.report import trial_words as words
from tuneagent.report.trial_figures import figures


def text(trial: Trial) -> str:
    return plain.write(trial_text.document(trial), 120)


def row(report: str, start: str) -> list[str]:
    line = next(line for line in report.splitlines() if line.strip().startswith(start))
    return re.split(r"\s{2,}", line.strip())


def judged(trial: Trial, **changes: Any) -> Trial:
    assert trial.verdict is not None
    return replace(trial, verdict=replace(trial.verdict, **changes))


def primary(**changes: Any) -> Effect:
    verdict = make_trials.pin().verdict
    assert verdict is not None
    assert verdict.primary is not None
    return replace(verdict.primary, **changes)


def trial_guard() -> GuardResult:
    """One that held, with its figures."""
    verdict = make_trials.pin().verdict
    assert verdict is not None
    return next(one for one in verdict.guards if one.effect is not None and not one.failed)


def test_the_verdict_stands_first() -> None:
    assert text(make_trials.pin()).splitlines()[0] == (
        "Keep: transactions/s +73.4 % (95 % interval +57.5 to +91.0 %, 12 pairs); kept as transaction 5."
    )


@pytest.mark.parametrize(
    ("trial", "said"),
    [
        (make_trials.same(), "Undecided: transactions/s "),
        (judged(make_trials.pin(kept=False), decision=Decision.REVERT), "Revert: transactions/s +73.4 %"),
        (make_trials.failed(), "Failed, and the machine is as before: the load's server does not answer"),
        (make_trials.failed(), "(connection refused)."),
        (replace(make_trials.failed(), kept=True), "Failed, and its changes stand: the load's server"),
        (replace(make_trials.failed(), why=""), "no reason was given."),
        (make_trials.running(), "Running: 0 rounds so far."),
        (replace(make_trials.failed(), state=TrialState.INTERRUPTED), "Interrupted: its process ended after 2 rounds."),
        (replace(make_trials.pin(), verdict=None), "Ended without a verdict."),
        (judged(make_trials.pin(), primary=None), "Keep: no round told the metric that decides"),
        (judged(make_trials.pin(), primary=primary(low_percent=None, high_percent=None)), "(too few pairs for an int"),
        (make_trials.pin(kept=False), "; the changes were taken back."),
    ],
)
def test_every_end_has_its_sentence(trial: Trial, said: str) -> None:
    assert said in text(trial).splitlines()[0]


def test_the_table_is_that_of_the_published_report() -> None:
    report = text(make_trials.e1())

    assert row(report, "metric ") == ["metric", "A", "B", "change", "95 % interval", "pairs", "reads as"]
    assert row(report, "transactions/s*")[1:4] == ["87,118", "112,025", "+28.6 %"]
    assert row(report, "exits per transaction")[3:] == ["-49.8 %", "-50.2 to -49.3 %", "6", "better"]
    assert row(report, "exits/s")[6] == "lower"  # not judged: it goes with the work done
    assert row(report, words.title("rx_cpu_percent"))[6] == "no difference seen"
    assert "on CPU 0 / 1" in report
    assert row(report, "input.0") == ["input.0", "5,157 / 5,225", "3,395 / 3,395"]
    assert row(report, "output.0") == ["output.0", "0 / 0", "0 / 0"]


def test_it_says_what_it_could_not_have_seen() -> None:
    report = " ".join(text(make_trials.pin()).split())

    assert "Not seen: A change of transactions/s smaller than 14.6 % would have been missed" in report
    assert "with 12 pairs" in report
    assert words.not_seen(judged(make_trials.pin(), primary=primary(detectable_percent=None))) == ""


def test_rounds_that_do_not_count_are_told_with_their_reason() -> None:
    report = text(make_trials.pin())

    assert "1 round that does not count" in report
    assert row(report, "5 ") == ["5", "B", "412", "a neighbour took 31 % of the CPU; measured again"]
    assert "25 rounds of 6 s after 1.5 s each, 24 of them count" in report


def test_guards_and_what_was_not_measured() -> None:
    report = text(make_trials.pin())

    guards = report.partition("Guards")[2]
    assert row(guards, "latency, 99th percentile")[1:3] == ["worse by 10 %", "-45.4 %"]
    assert row(report, "drops")[1:4] == ["worse by 0 %", "?", "?"]
    assert row(report, "drops")[4].startswith("not measured")
    held = replace(trial_guard(), why="latency: -45.4 % (95 % interval -50 to -40): not proven worse by more than 10 %")
    shown = text(judged(make_trials.pin(), guards=(held,)))
    assert row(shown.partition("Guards")[2], "latency, 99th")[4] == "held: not proven worse by more than 10 %"
    assert "Not measured: lock waits/s: no tracepoint: not permitted" in report
    trial = make_trials.pin()
    assert trial.verdict is not None
    failed = replace(trial.verdict.guards[0], failed=True, why="it is 40 % worse")
    assert "FAILED: it is 40 % worse." not in report
    assert "FAILED: it is 40 % worse" in text(judged(trial, guards=(failed,)))


def test_rounds_that_do_not_count_are_in_no_mean() -> None:
    whole = make_trials.pin()
    without = replace(whole, rounds=tuple(one for one in whole.rounds if not one.unused))
    told, same = figures(whole), figures(without)

    assert (told.interrupts, told.exits, told.latency) == (same.interrupts, same.exits, same.latency)
    assert len(told.unused) == 1


def test_exits_and_latency_have_both_arms() -> None:
    report = text(make_trials.pin())

    assert row(report, "io")[1:3] == ["5,184", "8,119"]
    assert row(report, "99.9 %")[1].endswith("ms")
    assert figures(make_trials.e1()).latency == {}


def test_a_percentile_that_no_value_exceeds_is_not_told() -> None:
    few = replace(make_trials.pin(), rounds=make_trials.pin().rounds[:2])  # 8,612 values of A, 12,993 of B

    assert figures(few).latency[99.9].a is not None
    assert figures(few).latency[99.99].a is None
    assert figures(few).latency[99.99].b is not None


def test_many_cpus_are_told_by_the_busiest() -> None:
    cpus = {str(cpu): float(cpu * 10) for cpu in range(1, 101)}
    rounds = tuple(
        replace(one, queue_interrupts={"input.0": cpus, "input.10": cpus}) for one in make_trials.e1().rounds
    )
    report = text(replace(make_trials.e1(), rounds=rounds))

    assert row(report, "input.0")[1].startswith("100: 1,000, 99: 990")
    assert row(report, "input.0")[1].endswith("+94")


def test_queues_stand_in_the_order_of_their_numbers() -> None:
    names = ("output.10", "input.9", "input.10", "output.2", "input.2")
    rounds = (replace(make_trials.e1().rounds[0], queue_interrupts={name: {"0": 1.0} for name in names}),)

    assert figures(replace(make_trials.e1(), rounds=rounds)).queues == (
        "input.2",
        "output.2",
        "input.9",
        "input.10",
        "output.10",
    )


def test_a_difference_is_told_in_its_unit() -> None:
    drops = Effect("drops", 12, 0.0, 3.0, None, None, None, None, None, "t", 3.0, 1.0, 5.5)
    report = text(judged(make_trials.pin(), effects=(drops,), guards=()))

    assert row(report, "drops") == ["drops", "0", "3", "+3", "+1 to +5.5", "12", "worse"]


def test_of_nothing_that_became_something_the_interval_of_the_difference_is_told() -> None:
    some = primary(
        a_mean=0.0,
        b_mean=5.0,
        percent=None,
        low_percent=None,
        high_percent=None,
        difference=5.0,
        low_difference=4.5,
        high_difference=5.5,
    )
    first = text(judged(make_trials.pin(), primary=some)).splitlines()[0]
    few = text(judged(make_trials.pin(), primary=replace(some, low_difference=None))).splitlines()[0]

    assert first.startswith("Keep: transactions/s +5 (95 % interval +4.5 to +5.5, 12 pairs)")
    assert "+5 (too few pairs for an interval, 12 pairs)" in few


def test_what_a_machine_said_cannot_steer_the_terminal() -> None:
    evil = "\x1b[2J\u202e\r"
    asked = replace(make_trials.question(evil, evil), subject=evil, primary=evil)
    trial = replace(make_trials.failed(), question=asked, facts={evil: evil}, why=evil, version=evil)
    rounds = tuple(
        replace(one, unused=evil, missing={evil: evil}, queue_interrupts={evil: {evil: 1.0}}, exits_by_kind={evil: 2.0})
        for one in make_trials.e1().rounds
    )
    counted = replace(make_trials.e1().rounds[0], missing={evil: evil}, queue_interrupts={evil: {evil: 1.0}})
    report = text(replace(trial, rounds=(*rounds, counted)))

    assert all(line.isprintable() for line in report.splitlines())


@pytest.mark.parametrize(
    ("number", "said"),
    [(0.05, "+0.05 %"), (-0.04, "-0.04 %"), (73.41, "+73.4 %"), (99.96, "+100 %"), (1e4, "+10,000 %"), (None, "?")],
)
def test_percent(number: float | None, said: str) -> None:
    assert words.percent(number) == said


def test_span_of_a_clock_that_was_set_back() -> None:
    assert words.span(100, 50) == "?"
    assert words.span(0, 59 * 10**9) == "59 s"
    assert words.span(0, 3 * 3600 * 10**9 + 61 * 10**9) == "3 h 1 min"


def test_what_was_kept_ends_with_how_it_is_given_back() -> None:
    assert "\nUndo: tuneagent rollback 5\n" in text(make_trials.pin())
    assert "Undo:" not in text(replace(make_trials.pin(), kept=False))


def test_the_transaction_of_another_machine_is_not_to_be_given_back_here() -> None:
    report = text(make_trials.pin(origin="there.jsonl"))

    assert "kept as transaction 5" in report.splitlines()[0]
    assert "rollback" not in report


def test_what_was_kept_without_a_transaction_is_told_too() -> None:
    report = text(make_trials.pin(transaction=None))

    assert report.splitlines()[0].endswith("; kept.")
    assert "Undo:" not in report


def test_what_is_missing_is_told_once_and_a_part_is_not_all_of_it() -> None:
    pin = make_trials.pin()
    name = pin.question.primary
    title = words.title(name)
    first = replace(pin.rounds[0], metrics={}, missing={name: "no clock", "exits_per_sec": "no debugfs"})
    again = (f"{title} could not be measured in all rounds: no clock", "a note of its own")
    told = text(judged(replace(pin, rounds=(first, *pin.rounds[1:])), notes=again))

    assert "could not be measured in all rounds" not in told
    assert f"Not in every round: {title}: no clock" in told
    assert "Note: a note of its own" in told


def test_a_plan_file_that_has_no_title_is_named_once() -> None:
    pin = make_trials.pin()
    asked = replace(pin.question, policy="the changes of a file", title="the changes of a file", subject="eth0")
    assert "Trial 12: the changes of a file on eth0\n" in text(replace(pin, id=12, question=asked))


def test_a_change_too_long_for_a_row_is_a_sentence() -> None:
    long = replace(make_trials.change(), where="libvirt domain " + 80 * "x", old=None, new="on")
    trial = make_trials.pin()
    told = text(replace(trial, question=replace(trial.question, changes=(long,))))
    assert "what B changes" not in told
    assert re.search(r"Changed: libvirt domain x+:\s+A \?, B on", told)


def test_what_decides_reads_by_the_question_also_where_nobody_knows_the_metric() -> None:
    trial = make_trials.pin()
    own = primary(metric="value")
    assert words.reads_as(own, replace(trial.question, primary="value")) == "better"
    assert words.reads_as(own, trial.question) == "higher"


def test_a_command_is_told_by_its_words() -> None:
    spec = LoadSpec(LoadKind.COMMAND, command=("sh", "-c", "echo 1"), cpus=(1,))
    assert words.load(spec) == "command sh -c 'echo 1', on CPUs 1"

from __future__ import annotations

from dataclasses import replace

from tests import make_trials
from tests.report.test_advise_json import assert_documented, walk
from tuneagent.model.sweep import Knee, Point, Sweep
from tuneagent.model.trial import Effect
from tuneagent.model.tuning import Attempt, Tried, Tuning
from tuneagent.report import plain, sweep_text, tuning_text

WON = Attempt("pin-queue-interrupts", "eth0", Tried.KEPT, "all of it is above 0", make_trials.pin())
OUT = Attempt("rps-spread", "eth\x1b0", Tried.LEFT_OUT, "every CPU has a queue of its own")
ONE = Tuning("0.1.0", 93.0, (WON, OUT), None, (7,))
TWO = replace(ONE, attempts=(WON, replace(WON, policy="xps-by-queue")), together=make_trials.e1(number=9))
EFFECT = make_trials.pin().verdict
SWEEP = Sweep("0.1.0", "channels", "eth0", "transactions_per_sec", 8, (), Knee("2", "2 is better than 1"), (3, 4))


def test_what_stands_is_the_first_sentence() -> None:
    text = plain.write(tuning_text.document(ONE), 120)

    assert text.startswith("Kept: pin-queue-interrupts on eth0, of 1 policy tried.\n")
    assert "Give it back: tuneagent rollback 7" in text
    assert "not tried" in text
    assert "\x1b" not in text


def test_what_won_alone_and_not_together_is_told() -> None:
    told = replace(TWO, transactions=())

    assert "Nothing is kept, of 2 policies tried" in tuning_text.headline(told)
    assert "together they were not confirmed" in tuning_text.headline(told)
    assert "All of it together:" in plain.write(tuning_text.document(told), 120)


def test_a_policy_that_was_tried_twice_is_one() -> None:
    lost = replace(WON, became=Tried.TAKEN_BACK)
    assert "of 1 policy tried" in tuning_text.headline(replace(ONE, attempts=(lost, WON)))


def test_a_failure_is_told() -> None:
    assert "Failed: the disk is full" in plain.write(tuning_text.document(replace(ONE, why="the disk is full")), 120)


def test_the_json_of_a_tuning_is_documented() -> None:
    for told in (ONE, TWO):
        value = tuning_text.to_json(told)
        assert_documented("tuneagent.tuning/1", walk(value))
    assert tuning_text.to_json(ONE)["attempts"][1]["trial"] is None


def test_a_curve_is_told_with_its_knee() -> None:
    assert EFFECT is not None
    points = (Point("1", 100.0, None), Point("2", 150.0, EFFECT.primary))
    told = replace(SWEEP, points=points)
    text = plain.write(sweep_text.document(told), 120)

    assert text.startswith("The knee of transactions/s over channels is at 2.\nWhy: 2 is better than 1\n")
    assert "against 1" in text
    value = sweep_text.to_json(told)
    assert (value["knee"], value["trials"], value["why"]) == ({"value": "2", "why": "2 is better than 1"}, [3, 4], None)
    documented = value | {"points": [one | {"effect": None} for one in value["points"]]}
    assert_documented("tuneagent.sweep/1", walk(documented))


def test_a_point_above_nothing_has_the_interval_of_its_difference() -> None:
    more = Effect("drops", 8, 0.0, 3.0, None, None, None, None, None, "t", 3.0, 1.0, 5.5)
    few = replace(more, low_difference=None, high_difference=None)
    points = (Point("1", 0.0, None), Point("2", 3.0, more), Point("4", 3.0, few))
    text = plain.write(sweep_text.document(replace(SWEEP, metric="drops", points=points)), 120)

    assert "+1 to +5.5" in text
    assert text.count("too few blocks") == 1


def test_a_sweep_without_a_knee_or_without_an_end_says_so() -> None:
    assert sweep_text.headline(replace(SWEEP, knee=Knee(None, "flat"))).startswith("No knee of transactions/s")
    failed = replace(SWEEP, blocks=2, why="the server died")
    assert plain.write(sweep_text.document(failed), 120).startswith(
        "Failed after 2 blocks, and the machine is as before.\nWhy: the server died"
    )
    stuck = replace(failed, put_back=False)
    assert sweep_text.headline(stuck) == "Failed after 2 blocks, and the machine could not be put back."
    assert sweep_text.to_json(stuck)["put_back"] is False

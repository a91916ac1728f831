from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make_trials
from tuneagent.measure.tuning import again, expected_percent, ordered, pairs_least, pairs_within, primary_of_all
from tuneagent.model.identity import Role
from tuneagent.model.plan import Advice
from tuneagent.model.policy import Disruption, Expectation
from tuneagent.model.tuning import Attempt, Tried


def advice(policy: str, low: float = 0, high: float = 0, disruption: Disruption = Disruption.NONE) -> Advice:
    expects = (Expectation("transactions_per_sec", "up", low, high, "a report"),) if high else ()
    return Advice(policy, policy, "", "eth0", (), Role.GUEST, (), disruption, expects, (), (), "")


def test_the_most_that_is_expected_comes_first_and_then_what_disturbs_least() -> None:
    every = [
        advice("b-flaps", disruption=Disruption.LINK_FLAP),
        advice("c-unknown"),
        advice("some", 10, 20),
        advice("most", 5, 61),
        advice("a-cold", disruption=Disruption.COLD_START),
    ]

    assert [one.policy for one in ordered(every)] == ["most", "some", "c-unknown", "b-flaps", "a-cold"]


def test_what_shall_fall_counts_by_how_much() -> None:
    assert expected_percent(advice("exits", -50, -40)) == 45
    assert expected_percent(advice("nobody measured")) == 0


@pytest.mark.parametrize(
    ("left_s", "trials", "pairs"),
    [
        (1000, 1, 20),  # no more than was asked for
        (300, 2, 15),
        (300, 4, 7),
        (300, 10, 6),  # a share of three pairs is no trial
        (60, 3, 6),
        (59, 3, 0),
        (0, 1, 0),
        (-5, 1, 0),
        (300, 0, 0),
    ],
)
def test_how_many_pairs_a_budget_allows(left_s: float, trials: int, pairs: int) -> None:
    assert pairs_within(left_s, 10, trials, most=20) == pairs


@pytest.mark.parametrize(("left_s", "pairs"), [(120, 6), (119, 0), (300, 15), (600, 20)])
def test_a_confirmation_keeps_its_time(left_s: float, pairs: int) -> None:
    assert pairs_within(left_s, 10, 2, most=20, kept_s=60) == pairs


def test_fewer_are_enough_where_the_user_says_so() -> None:
    assert pairs_within(45, 10, 3, most=20, least=2) == 2


def test_what_lost_before_another_won_is_tried_once_more() -> None:
    def attempts(*became: Tried) -> list[Attempt]:
        return [Attempt(str(place), "eth0", one, "") for place, one in enumerate(became)]

    lost, won, out, broken = Tried.TAKEN_BACK, Tried.KEPT, Tried.LEFT_OUT, Tried.FAILED
    assert [one.policy for one in again(attempts(lost, won, out, lost, broken, won, lost))] == ["0", "3"]
    assert again(attempts(lost, out, lost)) == ()
    assert again(attempts(won, lost)) == ()
    assert again([]) == ()


@pytest.mark.parametrize("failed", [True, False])
def test_what_a_guard_has_failed_is_not_tried_again(*, failed: bool) -> None:
    trial = make_trials.pin()
    assert trial.verdict is not None
    guards = tuple(replace(one, failed=failed) for one in trial.verdict.guards)
    lost = Attempt("lost", "eth0", Tried.TAKEN_BACK, "", replace(trial, verdict=replace(trial.verdict, guards=guards)))
    assert again([lost, Attempt("won", "eth0", Tried.KEPT, "")]) == (() if failed else (lost,))


@pytest.mark.parametrize(("least", "most", "needed"), [(1, 20, 6), (8, 20, 8), (6, 6, 6), (2, 4, 4)])
def test_how_many_pairs_a_verdict_needs(least: int, most: int, needed: int) -> None:
    assert pairs_least(least, most) == needed


def test_what_decides_of_all_is_what_decided_each_or_what_it_is_for() -> None:
    def won(primary: str, became: Tried = Tried.KEPT) -> Attempt:
        trial = make_trials.pin()
        return Attempt("p", "s", became, "", replace(trial, question=replace(trial.question, primary=primary)))

    exits, transactions = won("exits_per_transaction"), won("transactions_per_sec")
    assert primary_of_all([exits, exits]) == "exits_per_transaction"
    assert primary_of_all([exits, transactions]) == "transactions_per_sec"
    assert primary_of_all([exits, replace(transactions, became=Tried.TAKEN_BACK)]) == "exits_per_transaction"
    assert primary_of_all([won("interrupts_per_packet"), won("exits_per_packet")]) == "interrupts_per_packet"
    assert primary_of_all([]) is None

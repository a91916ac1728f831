"""What looks cost: the boundaries held against scipy's multivariate normal distribution."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from tuneagent.measure.effect import Sample
from tuneagent.measure.sequential import KEEP, REVERT, chance, schedule, spent
from tuneagent.measure.student import normal_upper


def test_looks_come_after_each_block_and_at_the_end() -> None:
    assert schedule(6, 12).looks == (6, 8, 10, 12)
    assert schedule(6, 13).looks == (6, 8, 10, 12, 13)
    assert schedule(6, 6).looks == (6,)
    assert schedule(6, 5).looks == ()
    assert schedule(4, 8).looks == (4, 6, 8)


@pytest.mark.parametrize(("first", "last"), [(6, 12), (6, 18), (4, 8), (7, 12)])
@pytest.mark.parametrize("error", [KEEP, REVERT])
def test_all_looks_together_spend_what_is_to_be_spent_and_each_its_share(first: int, last: int, error: float) -> None:
    plan = schedule(first, last)
    heights = [normal_upper(limit) for limit in (plan.keep if error == KEEP else plan.revert)]
    for count in range(1, len(plan.looks) + 1):
        looks = plan.looks[:count]
        correlated = [[math.sqrt(min(x, y) / max(x, y)) for y in looks] for x in looks]
        never = stats.multivariate_normal(cov=correlated, allow_singular=True).cdf(heights[:count], rng=1)
        assert 1 - never == pytest.approx(spent(looks[-1] / last, error), rel=0.01, abs=2e-5)


def test_a_single_look_costs_nothing() -> None:
    assert list(schedule(6, 6).keep) == pytest.approx([KEEP])
    assert list(schedule(6, 6).revert) == pytest.approx([REVERT])


def test_early_looks_are_strict_and_the_last_is_nearly_free() -> None:
    keep = schedule(6, 12).keep
    assert keep[0] == pytest.approx(KEEP / 20)
    assert 0.93 * KEEP < keep[-1] < KEEP


def test_looks_are_bounded_however_many_pairs_there_may_be() -> None:
    plan = schedule(6, 100_000)
    assert len(plan.looks) <= 42
    assert plan.looks[-1] == 100_000


def test_spending_begins_at_nothing_ends_at_all_and_never_falls() -> None:
    spends = [spent(share / 50, 0.05) for share in range(51)]
    assert (spends[0], spends[-1]) == (0, 0.05)
    assert spends == sorted(spends)


def test_limits_apply_from_the_first_look_on() -> None:
    plan = schedule(6, 12)
    assert plan.limits(5) is None
    assert plan.limits(8) == (plan.keep[1], plan.revert[1])
    assert plan.limits(14) == (plan.keep[3], plan.revert[3])
    assert [plan.taken(count) for count in (5, 6, 7, 8, 12, 14)] == [0, 1, 1, 2, 4, 4]


def test_a_trial_that_was_cut_short_gets_the_stricter_of_both_looks() -> None:
    plan = schedule(6, 12)
    for count, index in ((7, 0), (9, 1), (11, 2)):
        assert plan.limits(count) == (min(plan.keep[index : index + 2]), min(plan.revert[index : index + 2]))
    assert schedule(6, 5).limits(6) is None


def test_the_chance_that_is_left() -> None:
    def left(t: float, pairs: int) -> float:
        return chance(Sample(t, 1.0, pairs - 1, pairs), 12, 0.0235, 11)

    assert left(0.0, 10) < 0.05
    assert left(-1.0, 6) < left(0.0, 6) < left(1.0, 6) < left(3.0, 6)
    assert left(3.0, 6) > 0.95
    assert left(3.0, 12) == 1
    assert left(1.0, 12) == 0
    assert chance(Sample(1.0, 0.0, 5, 6), 12, 0.0235, 11) == 1
    assert chance(Sample(0.0, 0.0, 5, 6), 12, 0.0235, 11) == 0

"""Effects and their intervals, held against scipy's t tests."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from tests.measure.make import of, one
from tuneagent.measure.effect import Data, Pair, complete, data, effect
from tuneagent.model.trial import Arm, Better

A = (101.0, 97.0, 104.0, 99.0, 108.0, 95.0, 103.0)
B = (111.0, 103.0, 109.0, 107.0, 116.0, 99.0, 114.0)


def pairs(a: tuple[float, ...] = A, b: tuple[float, ...] = B) -> tuple[Pair, ...]:
    return tuple(map(Pair, a, b))


def test_paired_intervals_are_those_of_scipy() -> None:
    found = effect(Data("transactions_per_sec", pairs()))
    assert found is not None
    logs = [math.log(y / x) for x, y in zip(A, B, strict=True)]
    low, high = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert found.percent == pytest.approx(100 * math.expm1(sum(logs) / 7))
    assert found.low_percent == pytest.approx(100 * math.expm1(low))
    assert found.high_percent == pytest.approx(100 * math.expm1(high))
    assert found.sd_log_ratio == pytest.approx(stats.tstd(logs))
    assert found.a_mean == pytest.approx(stats.gmean(A))
    assert found.b_mean == pytest.approx(stats.gmean(B))
    assert found.pairs == 7
    assert found.method == "t interval of paired log ratios"
    assert found.difference is None


def test_intervals_of_boots_are_those_of_scipy_unpaired() -> None:
    found = effect(Data("transactions_per_sec", pairs(), cold=True))
    assert found is not None
    low, high = stats.ttest_ind(list(map(math.log, B)), list(map(math.log, A))).confidence_interval(0.95)
    assert found.low_percent == pytest.approx(100 * math.expm1(low))
    assert found.high_percent == pytest.approx(100 * math.expm1(high))
    assert found.method == "t interval of log ratios between boots"


def test_drops_are_compared_by_difference() -> None:
    a, b = (0.0, 3.0, 1.0, 0.0, 2.0, 1.0), (5.0, 4.0, 0.0, 7.0, 2.0, 9.0)
    found = effect(Data("drops", pairs(a, b)))
    assert found is not None
    low, high = stats.ttest_rel(b, a).confidence_interval(0.95)
    assert [found.difference, found.a_mean, found.b_mean] == pytest.approx([20 / 6, 7 / 6, 4.5])
    assert found.low_difference == pytest.approx(low)
    assert found.high_difference == pytest.approx(high)
    assert found.percent == pytest.approx(100 * 20 / 7)
    assert found.low_percent == pytest.approx(100 * low / (7 / 6))
    assert found.sd_log_ratio is None
    assert found.method == "t interval of paired differences"


def test_drops_where_there_were_none_are_no_percentage() -> None:
    found = effect(Data("drops", pairs((0.0,) * 6, (5.0, 4.0, 6.0, 7.0, 2.0, 9.0))))
    assert found is not None
    assert (found.percent, found.low_percent, found.detectable_percent) == (None, None, None)
    assert found.low_difference is not None
    assert found.low_difference > 0


def test_no_drops_at_all_are_no_change() -> None:
    found = effect(Data("drops", pairs((0.0,) * 6, (0.0,) * 6)))
    assert found is not None
    assert (found.percent, found.low_difference, found.high_difference) == (0, 0, 0)


def test_a_ratio_is_given_up_where_any_round_has_nothing() -> None:
    assert Data("transactions_per_sec", pairs((0.0, *A[1:]), B)).differs
    assert not Data("transactions_per_sec", pairs()).differs
    assert Data("drops", pairs()).differs


@pytest.mark.parametrize(
    ("cold", "count", "given"), [(False, 5, False), (False, 6, True), (True, 3, False), (True, 4, True)]
)
def test_too_few_rounds_give_no_interval(cold: bool, count: int, given: bool) -> None:  # noqa: FBT001 - a case's columns
    found = effect(Data("transactions_per_sec", pairs(A[:count], B[:count]), cold))
    assert found is not None
    assert (found.low_percent is not None) is given
    assert (found.detectable_percent is not None) is given
    assert found.percent is not None
    if not given:
        assert found.method == f"no interval with fewer than {'4 boots of each' if cold else '6 pairs'}"


def test_one_pair_has_an_effect_and_no_spread() -> None:
    found = effect(Data("transactions_per_sec", pairs((100.0,), (125.0,))))
    assert found is not None
    assert found.percent == pytest.approx(25)
    assert found.sd_log_ratio is None
    assert effect(Data("transactions_per_sec", ())) is None


@pytest.mark.parametrize(
    ("better", "gain"), [(Better.UP, 0.0), (Better.UP, 2.0), (Better.DOWN, 0.0), (Better.DOWN, 2.0)]
)
def test_the_detectable_effect_is_proven_in_four_of_five_cases(better: Better, gain: float) -> None:
    found = effect(Data("transactions_per_sec", pairs()), 0.025, gain, better)
    assert found is not None
    assert found.detectable_percent is not None
    assert found.sd_log_ratio is not None
    sign = 1 if better is Better.UP else -1
    beyond = sign * (math.log1p(sign * found.detectable_percent / 100) - math.log1p(sign * gain / 100))
    critical = stats.t.isf(0.025, 6)
    assert stats.nct.sf(critical, 6, beyond * math.sqrt(7) / found.sd_log_ratio) == pytest.approx(0.8, abs=1e-6)


def test_rounds_that_do_not_vary_have_an_interval_of_no_width() -> None:
    found = effect(Data("frames", pairs((10.0,) * 6, (11.0,) * 6)))
    assert found is not None
    assert found.low_percent == pytest.approx(10)
    assert found.high_percent == pytest.approx(10)


def test_a_limit_is_a_ratio_of_b_to_a() -> None:
    exactly = Data("drops", pairs(A, tuple(1.05 * a for a in A)))
    sample = exactly.against(1.05)
    assert sample is not None
    assert sample.mean == pytest.approx(0, abs=1e-12)
    assert exactly.against(0) is None
    assert Data("x", pairs()).gain(100, Better.DOWN) is None
    assert Data("x", pairs()).gain(1, Better.NEITHER) is None
    worse = Data("x", pairs()).gain(0, Better.DOWN)
    assert worse is not None
    assert worse.mean < 0


def test_only_whole_pairs_count_and_unused_rounds_never() -> None:
    rounds = [*of("m", A, B)]
    rounds[3] = one(4, 2, rounds[3].arm, {"m": 1e9}, unused="the server stalled")
    rounds.append(one(15, 8, Arm.A, {"m": 1e9}))
    found = complete(rounds)
    assert [a.pair for a, _ in found] == [1, 3, 4, 5, 6, 7]
    assert all(a.arm is Arm.A and b.arm is Arm.B for a, b in found)


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf, 1e200])
def test_numbers_that_are_none_are_left_out_with_their_partner(broken: float) -> None:
    found = data("m", complete(of("m", (broken, *A[1:]), B)))
    assert found.pairs == pairs()[1:]


def test_a_metric_that_a_round_lacks_is_left_out_with_its_partner() -> None:
    rounds = [*of("m", A, B)]
    rounds[0] = one(1, 1, Arm.A, {})
    assert data("m", complete(rounds)).pairs == pairs()[1:]


def test_numbers_of_any_size_are_survived() -> None:
    for data_ in (Data("m", pairs((1e-140,) * 6, (1e140, 1e149, 1e130, 1e3, 1.0, 1e-9))),
                  Data("drops", pairs((-1e149,) * 6, (1e149,) * 6))):  # fmt: skip
        found = effect(data_)
        assert found is not None
        assert all(value is None or math.isfinite(value) for value in (found.low_percent, found.high_percent))

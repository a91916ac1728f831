"""Buckets of at most one per cent, and percentiles held against sorted values."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.load.tally import Tally
from tuneagent.model import histogram
from tuneagent.model.histogram import BUCKETS, MOST_NS, bounds_ns, bucket_of
from tuneagent.model.load import Histogram

LATENCIES = st.integers(0, MOST_NS)


def counted(values: list[int]) -> Histogram:
    tally = Tally()
    for value in values:
        tally.add(value)
    return tally.histogram()


@given(LATENCIES)
def test_a_latency_lies_within_the_bounds_of_its_bucket(ns: int) -> None:
    low, end = bounds_ns(bucket_of(ns))

    assert low <= ns < end


def test_buckets_follow_each_other_without_a_gap() -> None:
    bounds = [bounds_ns(index) for index in range(BUCKETS)]

    assert bounds[0][0] == 0
    assert all(end == low for (_, end), (low, _) in pairwise(bounds))
    assert bounds[-1][0] <= MOST_NS < bounds[-1][1]


def test_from_a_microsecond_up_no_bucket_is_wider_than_one_per_cent() -> None:
    assert max((end - low) / low for low, end in map(bounds_ns, range(bucket_of(1000), BUCKETS))) <= 0.01


@pytest.mark.parametrize(("ns", "same"), [(-5, 0), (MOST_NS + 1, MOST_NS), (10**30, MOST_NS)])
def test_what_is_out_of_range_counts_at_its_end(ns: int, same: int) -> None:
    assert bucket_of(ns) == bucket_of(same)


@pytest.mark.parametrize("index", [-1, BUCKETS, 10**9])
def test_an_index_that_no_latency_has_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match=f"no bucket {index}"):
        bounds_ns(index)


@given(st.lists(LATENCIES, min_size=1, max_size=200), st.sampled_from([0.0, 1.0, 50.0, 90.0, 99.0, 99.99, 100.0]))
def test_a_percentile_is_that_of_the_sorted_values_within_half_a_per_cent(values: list[int], percent: float) -> None:
    exact = sorted(values)[max(1, math.ceil(percent / 100 * len(values))) - 1]

    found = histogram.percentile_ns(counted(values), percent)

    assert found == pytest.approx(exact, rel=0.005, abs=0.5)


def test_percentiles_stay_between_the_least_and_the_most() -> None:
    one = counted([1_000_003])

    assert {histogram.percentile_ns(one, percent) for percent in (0.0, 50.0, 100.0)} == {1_000_003.0}


def test_an_empty_histogram_has_no_percentile_and_no_mean() -> None:
    empty = Tally().histogram()

    assert (empty.min_ns, empty.max_ns, histogram.percentile_ns(empty, 50), histogram.mean_ns(empty)) == (None,) * 4


@pytest.mark.parametrize("percent", [-0.1, 100.1, math.nan])
def test_what_is_no_percentage_is_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="no percentage"):
        histogram.percentile_ns(counted([7]), percent)


@given(st.lists(LATENCIES, max_size=50), st.lists(LATENCIES, max_size=50))
def test_merged_histograms_are_that_of_all_values(first: list[int], second: list[int]) -> None:
    assert histogram.merged([counted(first), counted(second)]) == counted(first + second)


def test_nothing_merges_to_nothing() -> None:
    assert histogram.merged([]) is None


@given(st.lists(st.integers(-(10**9), 10**12), min_size=1, max_size=50))
def test_a_tally_counts_in_the_buckets_of_the_model(values: list[int]) -> None:
    tally = Tally()
    for value in values:
        tally.add(abs(value))

    assert tally.counts == [sum(bucket_of(abs(value)) == index for value in values) for index in range(BUCKETS)]
    assert tally.sum_ns == sum(map(abs, values))


def test_told_percentiles_come_back_exactly_and_the_next_higher_in_between() -> None:
    steps = [(0.0, 5_000), (50.0, 10_000), (99.0, 40_000), (99.9, 90_000), (100.0, 700_000)]

    made = histogram.of_steps(steps, 10_000, 12_345.0)

    assert made is not None
    assert (made.total, made.sum_ns, made.min_ns, made.max_ns) == (10_000, 123_450_000, 5_000, 700_000)
    assert sum(made.counts.values()) == 10_000
    for percent, ns in [
        (50.0, 10_000),
        (60.0, 40_000),
        (99.0, 40_000),
        (99.9, 90_000),
        (99.95, 700_000),
        (100.0, 700_000),
    ]:
        assert histogram.percentile_ns(made, percent) == pytest.approx(ns, rel=0.005)


def test_without_a_told_percentile_there_is_no_histogram() -> None:
    assert histogram.of_steps([], 100, 1.0) is None

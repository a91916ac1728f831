"""Student's t, central and not, held against scipy's."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from tuneagent.measure.student import (
    from_normal,
    noncentral_tail,
    noncentrality_for,
    normal_tail,
    normal_upper,
    tail,
    upper,
)

DEGREES = (1, 2, 3, 5, 6, 11, 23, 57, 199, 2000)


@pytest.mark.parametrize("df", DEGREES)
def test_tails_are_those_of_scipy(df: int) -> None:
    for t in (-40.0, -3.0, -0.5, 0.0, 1e-6, 0.3, 1.0, 2.2, 5.0, 12.0, 60.0):
        assert tail(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-10, abs=1e-300)


def test_tails_at_infinity() -> None:
    assert tail(math.inf, 5) == 0
    assert tail(-math.inf, 5) == 1


@pytest.mark.parametrize("df", DEGREES)
def test_quantiles_are_those_of_scipy(df: int) -> None:
    for probability in (1e-6, 0.0005, 0.01, 0.025, 0.2, 0.5, 0.7, 0.975):
        assert upper(probability, df) == pytest.approx(stats.t.isf(probability, df), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1, math.nan])
def test_no_quantile_of_what_is_no_probability(probability: float) -> None:
    with pytest.raises(ValueError, match="a probability between 0 and 1"):
        upper(probability, 5)


def test_a_z_becomes_the_t_of_the_same_tail() -> None:
    for z in (-3.5, -1.0, 0.0, 1.0, 2.0, 4.0, 6.0):
        assert from_normal(z, 7) == pytest.approx(stats.t.isf(stats.norm.sf(z), 7), rel=1e-8, abs=1e-9)
    assert from_normal(50, 7) == math.inf
    assert from_normal(-50, 7) == -math.inf


def test_normal_tails_are_those_of_scipy() -> None:
    for z in (-8.0, -1.0, 0.0, 2.0, 8.0, 20.0):
        assert normal_tail(z) == pytest.approx(stats.norm.sf(z), rel=1e-12)
    for probability in (1e-9, 0.025, 0.4, 0.9):
        assert normal_upper(probability) == pytest.approx(stats.norm.isf(probability), rel=1e-9)


@pytest.mark.parametrize("df", DEGREES)
def test_noncentral_tails_are_those_of_scipy(df: int) -> None:
    for t in (0.0, 1.5, 2.2, 4.3):
        for noncentrality in (0.0, 0.7, 2.8, 6.0):
            expected = stats.nct.sf(t, df, noncentrality) if noncentrality else stats.t.sf(t, df)
            assert noncentral_tail(t, df, noncentrality) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("power", "t", "df"), [(0.8, 2.201, 11), (0.8, 5.2, 5), (0.95, 2.6, 57), (0.5, 12.7, 1)])
def test_a_noncentrality_gives_its_power_back(power: float, t: float, df: int) -> None:
    assert stats.nct.sf(t, df, noncentrality_for(power, t, df)) == pytest.approx(power, abs=2e-7)

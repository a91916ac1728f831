"""Two groups among the rounds of one arm, told from scatter, outliers and drift."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from tests.measure.lab_noise import BISTABLE
from tuneagent.measure.groups import two_groups


def test_levels_and_how_many_rounds_had_them() -> None:
    found = two_groups((1000.0, 310.0, 1020.0, 300.0, 990.0, 305.0, 1010.0))
    assert found is not None
    assert (found.low_rounds, found.high_rounds) == (3, 4)
    assert found.low == pytest.approx(305, rel=0.01)
    assert found.high == pytest.approx(1005, rel=0.01)


def test_few_rounds_equal_rounds_and_close_levels_are_one_group() -> None:
    assert two_groups((1000.0, 300.0, 1000.0, 300.0, 1000.0)) is None
    assert two_groups((5.0,) * 8) is None
    assert two_groups((1000.0, 1050.0) * 6) is None
    assert two_groups((0.0, 300.0) * 6) is None


def test_one_outlier_is_no_group() -> None:
    assert two_groups((1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0, 90.0)) is None


def test_measured_rounds_of_a_load_that_was_not_pinned() -> None:
    # Three levels, and the middle one bridges the others: that is for the width of the interval to tell.
    assert two_groups(BISTABLE * 2) is None
    found = two_groups([level for level in BISTABLE if not 200 < level < 700] * 2)
    assert found is not None
    assert (found.low_rounds, found.high_rounds) == (4, 4)


@pytest.mark.parametrize(
    "noise",
    [
        lambda rng: rng.gauss(0, 0.13),
        lambda rng: rng.gauss(0, 0.13) / math.sqrt(rng.gammavariate(1.5, 1 / 1.5)),
        lambda rng: rng.uniform(-0.3, 0.3),
    ],
    ids=["normal", "heavy-tailed", "drift"],
)
@pytest.mark.parametrize("rounds", [6, 8, 12, 24])
def test_noise_of_one_group_is_seldom_called_two(noise: Callable[[random.Random], float], rounds: int) -> None:
    rng = random.Random(rounds)  # noqa: S311 - no secret
    called = sum(two_groups([math.exp(noise(rng)) for _ in range(rounds)]) is not None for _ in range(1000))
    assert called <= 25


@pytest.mark.parametrize(("rounds", "least"), [(8, 0.85), (12, 0.97), (24, 0.99)])
def test_two_levels_are_seldom_missed(rounds: int, least: float) -> None:
    rng = random.Random(rounds)  # noqa: S311 - no secret
    found = 0
    for _ in range(500):
        levels = [1000.0 if rng.random() < 0.5 else 333.0 for _ in range(rounds - 4)] + [1000.0, 333.0] * 2
        found += two_groups([level * math.exp(rng.gauss(0, 0.08)) for level in levels]) is not None
    assert found >= least * 500

"""Rounds whose CPU a neighbour took."""

from __future__ import annotations

from dataclasses import replace

from tests.measure.make import one
from tuneagent.measure.steal import TAKEN, stolen
from tuneagent.model.trial import Arm, Round


def rounds(arm: Arm, *steal: float | None) -> list[Round]:
    return [one(10 * (arm is Arm.B) + n, n, arm, {}, steal_percent=value) for n, value in enumerate(steal, 1)]


def test_far_more_than_the_others_of_the_arm_is_stolen() -> None:
    assert list(stolen(rounds(Arm.A, 1.0, 2.0, 30.0, 1.5))) == [3]


def test_little_more_is_not() -> None:
    assert stolen(rounds(Arm.A, 1.0, 2.0, 6.4, 1.5)) == {}
    assert stolen(rounds(Arm.A, 20.0, 21.0, 39.0, 19.0)) == {}


def test_what_the_other_arm_has_does_not_matter() -> None:
    assert stolen([*rounds(Arm.A, 1.0, 1.1, 1.2, 1.3), *rounds(Arm.B, 30.0, 31.0, 32.0, 29.0)]) == {}


def test_nobody_knows_what_is_usual_after_three_rounds_or_without_steal() -> None:
    assert stolen(rounds(Arm.A, 1.0, 2.0, 30.0)) == {}
    assert stolen(rounds(Arm.A, None, None, None, 30.0)) == {}
    assert stolen(rounds(Arm.A, 1.0, 2.0, 1.5, None)) == {}


def test_what_does_not_count_already_is_neither_told_again_nor_compared_with() -> None:
    some = rounds(Arm.A, 1.0, 2.0, 3.0)
    lost = one(9, 9, Arm.A, {}, steal_percent=30.0, unused="the server stalled")
    assert stolen([*some, lost]) == {}


def test_what_falls_on_one_arm_alone_is_left_out_twice_and_not_more() -> None:
    some = [*rounds(Arm.A, 1.0, 1.1, 1.2, 1.3), *rounds(Arm.B, 30.0, 1.0, 31.0, 1.1, 32.0, 1.2, 0.9)]
    assert list(stolen(some)) == [11, 13]
    lost = [replace(one, unused=TAKEN) if one.number in {11, 13} else one for one in some]
    assert stolen(lost) == {}


def test_what_falls_on_both_is_left_out_of_both() -> None:
    some = [*rounds(Arm.A, 30.0, 1.0, 31.0, 1.1, 1.2, 0.9), *rounds(Arm.B, 30.0, 1.0, 31.0, 1.1, 32.0, 1.2, 0.9)]
    assert len(stolen(some)) == 5

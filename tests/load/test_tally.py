"""Warm-up, measured seconds and what follows, kept apart."""

from __future__ import annotations

from tuneagent.load.tally import Phases, Tally, Times
from tuneagent.model.histogram import bucket_of

TIMES = Times(1000, 5000, 6000)


def test_only_what_ends_within_the_measured_seconds_is_measured() -> None:
    phases = Phases(TIMES)
    for now in (300, 900, 1000, 3000, 4999, 5000, 5500, 6000):
        if now >= phases.until_ns and not phases.turn(now):
            break
        phases.tally.add(now)

    assert phases.measured is not None
    assert phases.measured.sum_ns == 1000 + 3000 + 4999


def test_a_wait_over_both_edges_measures_nothing_and_ends() -> None:
    phases = Phases(TIMES)

    assert not phases.turn(7000)
    assert phases.measured is not None
    assert phases.measured.transactions == 0


def test_a_wait_over_the_beginning_goes_on() -> None:
    phases = Phases(TIMES)

    assert phases.turn(2000)
    assert (phases.tally is phases.measured, phases.until_ns) == (True, 5000)


def test_the_end_is_told_with_its_own_time_whenever_it_is_noticed() -> None:
    told: list[tuple[Tally, int]] = []
    phases = Phases(TIMES, lambda tally, now: told.append((tally, now)))

    phases.turn(1000)
    phases.turn(5700)

    assert told == [(phases.measured, 5000)]


def test_without_a_rest_the_end_is_the_end() -> None:
    phases = Phases(Times(1000, 5000, 5000))

    assert phases.turn(1000)
    assert not phases.turn(5000)


def test_requests_that_wait_count_with_their_ages() -> None:
    tally = Tally()
    tally.add_waiting(100, 50.0, 3)

    made = tally.histogram()
    assert made.counts == {bucket_of(100): 1, bucket_of(150): 1, bucket_of(200): 1}
    assert (made.sum_ns, made.min_ns, made.max_ns, tally.waiting, tally.transactions) == (450, 100, 200, 3, 0)


def test_a_million_waiting_requests_count_every_one() -> None:
    tally = Tally()
    tally.add_waiting(1, 10.0, 1_000_003)

    assert tally.histogram().total == 1_000_003

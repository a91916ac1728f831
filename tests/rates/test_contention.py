"""Waits counted between two samples, and those that the later one has on record."""

from __future__ import annotations

from typing import Any

import pytest

from tests import make
from tests.make_contention import AFTER_HANDLER, DESCRIPTOR, EDGE, Story, counts, lock_stat
from tuneagent import rates
from tuneagent.model.clock import Clock
from tuneagent.model.contention import Contention, ContentionCounts, SpinVisibility
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.rates.contention import NOT_RECORDED

SECOND = 10**9
LATER = counts({0: 1_900, 1: 5_300}, read_at_ns=3 * SECOND)


def sample(waits: ContentionCounts | None, at_s: int = 1, **changes: Any) -> Snapshot:
    clock = Clock(at_s * SECOND, at_s * SECOND, 10**18)
    return make.snapshot(clock=clock, contention=waits, **changes)


def view(old: ContentionCounts | None, new: ContentionCounts | None, **changes: Any) -> View:
    return rates.view(sample(old), sample(new, 3, **changes))


def told(seen: View) -> Contention:
    assert seen.contention is not None
    return seen.contention


def gaps(seen: View) -> list[tuple[str, str]]:
    return [(gap.what, gap.source) for gap in seen.missing if "contention" in gap.what]


def test_waits_a_second_by_cpu() -> None:
    found = told(view(counts(), LATER))
    assert (found.per_cpu_per_sec, found.per_sec) == ({0: 400.0, 1: 1_500.0}, 1_900.0)
    assert (found.counted_reason, found.spin) == (None, SpinVisibility.EVERY)


def test_the_table_has_an_interval_of_its_own() -> None:
    later = counts({0: 1_900, 1: 5_300}, read_at_ns=3 * SECOND + SECOND // 2)
    assert told(view(counts(), later)).per_cpu_per_sec == {0: 320.0, 1: 1_200.0}


def test_no_wait_is_none_and_no_gap() -> None:
    seen = view(counts(), counts(read_at_ns=3 * SECOND))
    assert told(seen).per_cpu_per_sec == {0: 0.0, 1: 0.0}
    assert gaps(seen) == []


def test_counts_of_two_openings_are_not_compared() -> None:
    seen = view(counts(), counts({0: 9_000, 1: 9_000}, opened_at_ns=2 * SECOND, read_at_ns=3 * SECOND))
    found = told(seen)
    assert (found.per_cpu_per_sec, found.per_sec) == (None, None)
    assert found.counted_reason is not None
    assert "opened anew" in found.counted_reason
    assert gaps(seen) == [("contention", "lock-contention")]


@pytest.mark.parametrize("count", [2_299, 2**63])
def test_a_count_that_fell_or_leapt_is_no_rate(count: int) -> None:
    seen = view(counts(), counts({0: 1_900, 1: count}, read_at_ns=3 * SECOND))
    assert told(seen).per_cpu_per_sec == {0: 400.0}
    assert gaps(seen) == [("cpu1.contention", "lock-contention")]


def test_a_cpu_that_came_or_went_has_no_rate() -> None:
    seen = view(counts(), counts({1: 2_500, 7: 40}, read_at_ns=3 * SECOND))
    assert told(seen).per_cpu_per_sec == {1: 100.0}
    assert gaps(seen) == [("cpu0.contention", "lock-contention"), ("cpu7.contention", "lock-contention")]


def test_without_a_cpu_that_can_be_compared_there_is_no_rate_at_all() -> None:
    found = told(view(counts({2: 5}), counts({3: 6}, read_at_ns=3 * SECOND)))
    assert (found.per_cpu_per_sec, found.counted_reason) == (None, "no CPU's count can be compared")


@pytest.mark.parametrize(("old", "new"), [(None, LATER), (counts(), None), (None, None)])
def test_what_was_counted_once_or_never_has_its_reason(
    old: ContentionCounts | None, new: ContentionCounts | None
) -> None:
    found = told(view(old, new))
    assert found.per_cpu_per_sec is None
    assert found.counted_reason == "waits for locks were not counted"
    assert found.spin is (SpinVisibility.EVERY if new else SpinVisibility.UNKNOWN)


def test_the_reason_is_the_one_that_the_sample_gives() -> None:
    gap = Missing("contention", "lock-contention", Reason.ABSENT, "this kernel has no such tracepoint")
    seen = rates.view(sample(None, missing=(gap,)), sample(None, 3, missing=(gap,)))
    assert told(seen).counted_reason == "this kernel has no such tracepoint"
    assert told(rates.alone(sample(None, missing=(gap,)))).counted_reason == "this kernel has no such tracepoint"


def test_one_sample_has_no_rate() -> None:
    found = told(rates.alone(sample(counts())))
    assert (found.per_cpu_per_sec, found.counted_reason) == (None, "one sample only: rates need two")
    assert found.spin is SpinVisibility.EVERY


def test_the_record_of_the_later_sample_is_told_with_the_names_of_interrupts() -> None:
    story = Story().handled(1_000, 400, 0, 31).wait(1_500, 90, 0, 0, DESCRIPTOR, AFTER_HANDLER)
    story.begin(4_000, 1, 0, DESCRIPTOR, EDGE)
    record = story.record(lost=3, throttled=4, truncated=True, watched_s=0.5, limits=("one CPU was offline",))
    found = told(view(counts(), LATER, lock_record=record))
    assert [row.subject for row in found.rows] == ["IRQ 31 (virtio0-input.0)"] * 2
    assert (found.seconds, found.recorded_reason, found.unpaired) == (2.0, None, 1)
    assert (found.lost, found.throttled, found.truncated) == (3, 4, True)
    assert (found.watched_s, found.rows_s) == (0.5, 0.5)
    assert (found.cpu_s, found.limits) == (0.013, ("one CPU was offline",))
    assert found.per_sec == 1_900.0


def test_one_sample_tells_its_record() -> None:
    record = Story().wait(1_500, 90, 0, 0, DESCRIPTOR, EDGE).record()
    found = told(rates.alone(sample(None, lock_record=record)))
    assert [row.waits for row in found.rows] == [1]


def test_a_record_of_before_the_interval_is_not_told() -> None:
    record = Story().wait(1_500, 90, 0, 0, DESCRIPTOR, EDGE).record()
    found = told(rates.view(sample(counts(), lock_record=record), sample(LATER, 3)))
    assert (found.rows, found.seconds, found.recorded_reason) == ((), None, NOT_RECORDED)


def test_why_a_record_failed_is_told() -> None:
    gap = Missing("lock_record", "lock-record", Reason.PERMISSION, "kernel.perf_event_paranoid is 2")
    found = told(view(counts(), LATER, missing=(gap,)))
    assert found.recorded_reason == "kernel.perf_event_paranoid is 2"


def test_samples_without_an_interval_still_tell_the_record() -> None:
    record = Story().wait(1_500, 90, 0, 0, DESCRIPTOR, EDGE).record()
    seen = rates.view(sample(counts()), sample(counts(), 1, lock_record=record))
    assert seen.interval_s is None
    assert told(seen).counted_reason == "the second sample is not later than the first"
    assert [row.waits for row in told(seen).rows] == [1]


def test_the_table_of_the_later_sample_is_passed_on() -> None:
    table = lock_stat()
    assert view(counts(), LATER, lock_stat=table).lock_stat is table
    assert rates.alone(sample(None, lock_stat=table)).lock_stat is table
    assert rates.view(sample(None, lock_stat=table), sample(None, 3)).lock_stat is None

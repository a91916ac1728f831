from __future__ import annotations

import pytest

from tests.make_contention import DESCRIPTOR, EDGE, MUTEX, PERCPU, READ, RT, SPIN, TRANSMIT, WRITE, Story
from tuneagent.contention.pairing import Paired, in_order, kind, pair
from tuneagent.model.contention import LockKind

MUTEX_AT = ("__mutex_lock.constprop.0", "pipe_write")
ASLEEP = ("__mutex_lock.constprop.0", "__mutex_lock_slowpath", "pipe_write")
FIRST_OF_THE_SLEEPERS = ("__mutex_lock.constprop.0", "mutex_lock", "pipe_write")
"""The same function from other places in it; stacks of a record tell these apart by offsets."""


def paired(story: Story) -> Paired:
    return pair(in_order(story.events))


def waited(story: Story) -> list[int | None]:
    return [wait.waited_ns for wait in paired(story).waits]


def test_a_begin_goes_with_its_end() -> None:
    assert waited(Story().wait(1_000, 250, 0, 101, DESCRIPTOR, EDGE)) == [250]


def test_waits_of_one_thread_for_several_locks_may_enclose_each_other() -> None:
    # An interrupt comes upon a task that is about to sleep for a mutex, and waits for a lock of its own.
    story = Story().begin(1_000, 0, 101, TRANSMIT, MUTEX_AT, MUTEX).wait(1_100, 30, 0, 101, DESCRIPTOR, EDGE)
    assert waited(story.end(1_700, 0, 101, TRANSMIT)) == [700, 30]


def test_a_wait_that_sleeps_may_end_on_another_cpu() -> None:
    story = Story().begin(1_000, 0, 101, TRANSMIT, MUTEX_AT, MUTEX).end(9_000, 3, 101, TRANSMIT)
    assert waited(story) == [8_000]


def test_the_idle_tasks_of_two_cpus_are_two() -> None:
    story = Story().begin(1_000, 0, 0, DESCRIPTOR, EDGE).begin(1_010, 1, 0, DESCRIPTOR, EDGE)
    assert waited(story.end(1_500, 1, 0, DESCRIPTOR).end(1_700, 0, 0, DESCRIPTOR)) == [700, 490]


def test_a_spinning_wait_does_not_end_elsewhere() -> None:
    assert waited(Story().begin(1_000, 0, 101, DESCRIPTOR, EDGE).end(1_500, 1, 101, DESCRIPTOR)) == [None]


def test_a_wait_whose_end_was_lost_is_told_without_one() -> None:
    story = Story().begin(1_000, 0, 101, DESCRIPTOR, EDGE).wait(5_000, 40, 0, 101, DESCRIPTOR, EDGE)
    assert waited(story) == [None, 40]


def test_an_end_without_a_begin_belongs_to_a_wait_before_the_record() -> None:
    assert waited(Story().end(900, 0, 101, DESCRIPTOR).wait(1_000, 60, 0, 101, DESCRIPTOR, EDGE)) == [60]


def test_a_mutex_tells_spinning_and_sleeping_by_begins_of_one_wait() -> None:
    story = Story().begin(1_000, 0, 101, TRANSMIT, MUTEX_AT, MUTEX | SPIN)
    story.begin(1_200, 0, 101, TRANSMIT, ASLEEP, MUTEX)
    story.begin(4_000, 1, 101, TRANSMIT, FIRST_OF_THE_SLEEPERS, MUTEX | SPIN)
    found = paired(story.end(4_300, 1, 101, TRANSMIT))
    assert [(wait.waited_ns, wait.begin.time_ns, wait.kind) for wait in found.waits] == [(3_300, 1_000, LockKind.MUTEX)]
    assert found.repeated == 2


def test_a_mutex_that_begins_twice_alike_has_lost_its_end() -> None:
    story = Story().begin(1_000, 0, 101, TRANSMIT, MUTEX_AT, MUTEX | SPIN)
    story.begin(7_000, 0, 101, TRANSMIT, MUTEX_AT, MUTEX | SPIN).end(7_100, 0, 101, TRANSMIT)
    found = paired(story)
    assert [wait.waited_ns for wait in found.waits] == [None, 100]
    assert found.repeated == 0


def test_a_mutex_that_begins_at_the_first_place_again_has_lost_its_end() -> None:
    story = Story().begin(1_000, 0, 101, TRANSMIT, MUTEX_AT, MUTEX | SPIN).begin(1_200, 0, 101, TRANSMIT, ASLEEP, MUTEX)
    story.begin(7_000, 0, 101, TRANSMIT, MUTEX_AT, MUTEX | SPIN).end(7_100, 0, 101, TRANSMIT)
    assert waited(story) == [None, 100]


def test_events_are_in_order_on_each_cpu_only() -> None:
    story = Story().wait(5_000, 70, 1, 102, DESCRIPTOR, EDGE).wait(1_000, 20, 0, 101, DESCRIPTOR, EDGE)
    assert waited(story) == [20, 70]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (SPIN, LockKind.SPIN),
        (SPIN | READ, LockKind.RWLOCK_READ),
        (SPIN | WRITE, LockKind.RWLOCK_WRITE),
        (READ, LockKind.RWSEM_READ),
        (WRITE, LockKind.RWSEM_WRITE),
        (MUTEX, LockKind.MUTEX),
        (MUTEX | SPIN, LockKind.MUTEX),
        (RT, LockKind.RT),
        (RT | READ, LockKind.RT),
        (PERCPU | READ, LockKind.PERCPU),
        (PERCPU | WRITE, LockKind.PERCPU),
        (0, LockKind.OTHER),
        (64, LockKind.OTHER),
        (None, LockKind.OTHER),
    ],
)
def test_kinds_by_the_flags_of_the_tracepoint(flags: int | None, expected: LockKind) -> None:
    assert kind(flags) is expected

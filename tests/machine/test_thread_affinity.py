from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator

import pytest

from tuneagent.machine import thread_affinity
from tuneagent.model.cpuset import CpuSet
from tuneagent.parse import process_status, task_stat

ALLOWED = CpuSet.of(os.sched_getaffinity(0))
FIRST = CpuSet.of([min(ALLOWED)])


@pytest.fixture
def tid() -> Iterator[int]:
    """A thread of this process that waits."""
    known, end = threading.Event(), threading.Event()

    def wait() -> None:
        known.set()
        end.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    known.wait()
    assert thread.native_id is not None
    yield thread.native_id
    end.set()
    thread.join()


def test_a_thread_is_moved_and_its_process_is_not(tid: int) -> None:
    assert thread_affinity.affinity(tid) == ALLOWED
    thread_affinity.set_affinity(tid, FIRST)
    assert thread_affinity.affinity(tid) == FIRST
    assert process_status.parse(thread_affinity.task_text(tid, "status")) == FIRST
    assert CpuSet.of(os.sched_getaffinity(os.getpid())) == ALLOWED


def test_cpus_that_are_not_there(tid: int) -> None:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the number is what counts
        thread_affinity.set_affinity(tid, CpuSet.of([4095]))
    assert caught.value.errno == errno.EINVAL
    assert thread_affinity.affinity(tid) == ALLOWED


@pytest.mark.parametrize(("number", "cpus"), [(0, FIRST), (-1, FIRST), (1, CpuSet())])
def test_what_would_mean_this_thread_or_nothing_is_refused(number: int, cpus: CpuSet) -> None:
    with pytest.raises(ValueError, match="is meant by anybody"):
        thread_affinity.set_affinity(number, cpus)


def test_a_threads_file_is_asked_for_below_its_process(tid: int) -> None:
    stat = task_stat.parse(thread_affinity.task_text(tid, "stat", os.getpid()))
    assert stat.start_ticks is not None
    assert stat == task_stat.parse(thread_affinity.task_text(tid, "stat"))
    with pytest.raises(FileNotFoundError):
        thread_affinity.task_text(tid, "stat", 1)

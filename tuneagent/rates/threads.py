"""Threads that serve virtual machines against themselves: their share of a CPU, and what they waited for one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tuneagent.model.domain_view import ThreadRate
from tuneagent.model.hypervisor import DomainThread
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.counters import delta_64

_WHOLE = 100.0
_BELIEVED = 2 * _WHOLE
"""A thread runs on one CPU at a time: a little more is the reading's own spread, twice is another thread."""


def alone(threads: Iterable[DomainThread]) -> dict[int, list[ThreadRate]]:
    """Threads of one moment by QEMU's process: where they are, and no shares."""
    found: dict[int, list[ThreadRate]] = defaultdict(list)
    for thread in threads:
        found[thread.pid].append(ThreadRate(thread, None, None, moved=False))
    return found


def compare(
    both: Comparison, before: Iterable[DomainThread], after: Iterable[DomainThread]
) -> dict[int, list[ThreadRate]]:
    """Threads of the later sample by QEMU's process, with the shares of those that were there before."""
    old = {(thread.pid, thread.tid): thread for thread in before}
    found: dict[int, list[ThreadRate]] = defaultdict(list)
    for thread in after:
        first = old.get((thread.pid, thread.tid))
        same = first is not None and (first.role, first.index) == (thread.role, thread.index)
        found[thread.pid].append(
            _rate(both, first, thread) if first is not None and same else ThreadRate(thread, None, None, moved=False)
        )
    return found


def _rate(both: Comparison, old: DomainThread, new: DomainThread) -> ThreadRate:
    seconds = both.between(old.read_at_ns, new.read_at_ns)
    run = _percent(delta_64(old.run_ns, new.run_ns), seconds)
    wait = _percent(delta_64(old.wait_ns, new.wait_ns), seconds)
    fell = (run is None and None not in (old.run_ns, new.run_ns)) or (
        wait is None and None not in (old.wait_ns, new.wait_ns)
    )
    if fell or (run is not None and run > _BELIEVED):
        both.unknown(f"thread.{new.tid}", "schedstat", "its times fell or leapt: another thread has this number now")
        return ThreadRate(new, None, None, moved=False)
    return ThreadRate(new, _at_most_whole(run), _at_most_whole(wait), _moved(old, new))


def _percent(grown_ns: int | None, seconds: float) -> float | None:
    return None if grown_ns is None else _WHOLE * grown_ns / (seconds * 1e9)


def _at_most_whole(percent: float | None) -> float | None:
    """A wait that began before the interval is told when it ends, all at once, so it can be more than the interval."""
    return None if percent is None else min(percent, _WHOLE)


def _moved(old: DomainThread, new: DomainThread) -> bool:
    if old.cpu != new.cpu and old.cpu is not None and new.cpu is not None:
        return True
    return old.affinity != new.affinity and old.affinity is not None and new.affinity is not None

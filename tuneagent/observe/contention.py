"""Waits for locks: counted by CPU, recorded with stacks where that was asked for, and /proc/lock_stat where it is."""

from __future__ import annotations

from dataclasses import replace

from tuneagent.model.contention import ContentionCounts, LockRecord, LockStat
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.observe.gaps import Gaps
from tuneagent.parse import lock_contention, lock_record, lock_stat

COUNTS = "lock-contention"
RECORD = "lock-record"
TABLE = "/proc/lock_stat"
SWITCH = "/proc/sys/kernel/lock_stat"
OFF = "lock_stat is compiled in and switched off (kernel.lock_stat = 0)"
NO_CLASS = "no class of locks in it: nothing was counted since it was cleared, or the text is cut off"
SWITCH_ON = "sysctl kernel.lock_stat=1 as root, for a while only: it makes every lock slower"

_NO_GAP = frozenset({Reason.ABSENT, Reason.NOT_CAPTURED})
"""A record is made on demand, and few kernels have the table: that there is none is no gap. Why it failed, is."""


def counts(gaps: Gaps) -> ContentionCounts | None:
    """Waits by CPU since the counters were opened; None and a note where they cannot be counted."""
    answer = gaps.captured("contention", COUNTS, lock_contention.parse)
    return None if answer is None else replace(answer[0], read_at_ns=answer[1])


def record(gaps: Gaps) -> LockRecord | None:
    """The record of waits with their stacks; None where nobody asked for one, and with a note where it failed."""
    try:
        answer = gaps.source.captured(RECORD)
    except SourceError as error:
        if error.reason not in _NO_GAP:
            gaps.missing.append(error.missing("lock_record"))
        return None
    told = gaps.understood("lock_record", RECORD, answer.value, lock_record.parse)
    return None if told is None else replace(told, read_at_ns=answer.read_at_ns)


def table(gaps: Gaps) -> LockStat | None:
    """/proc/lock_stat; None on the many kernels without it, and with a note where it is not readable or switched off.

    Switched off it holds zeros or what was counted before, which say nothing of now. It is never switched on here.
    """
    try:
        text = gaps.source.read(TABLE)
    except SourceError as error:
        if error.reason not in _NO_GAP:
            gaps.missing.append(error.missing("lock_stat"))
        return None
    told = gaps.understood("lock_stat", TABLE, text.text, lock_stat.parse)
    enabled = gaps.parsed("lock_stat.enabled", SWITCH, lock_stat.enabled, optional=True)
    if enabled is False:
        gaps.note("lock_stat", TABLE, Reason.UNKNOWABLE, OFF, SWITCH_ON)
        return None
    if told is not None and not told.classes:
        # seq_stats() leaves out what nobody held, and a kernel that counts takes locks all the time.
        gaps.note("lock_stat", TABLE, Reason.EMPTY, NO_CLASS)
        return None
    return None if told is None else replace(told, enabled=enabled, read_at_ns=text.read_at_ns)

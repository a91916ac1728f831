"""Waits for locks: those counted over the interval, and those of the record in the later sample."""

from __future__ import annotations

from dataclasses import replace

from tuneagent.model.contention import Contention, ContentionCounts, LockRecord, SpinVisibility
from tuneagent.model.snapshot import Snapshot
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.counters import PLAUSIBLE_PER_SEC, delta_64

SOURCE = "lock-contention"
NOT_COUNTED = "waits for locks were not counted"
NOT_RECORDED = "they are recorded with their stacks only where many are counted, or where that is asked for"

_OPENED_ANEW = "the counters were opened anew between the samples: their counts cannot be compared"
_NO_CPU = "no CPU's count can be compared"


def alone(snapshot: Snapshot, reason: str) -> Contention:
    """What a single sample tells: no rates, for this reason, but the waits of its record."""
    counts = snapshot.contention
    told = replace(_recorded(snapshot), spin=counts.spin if counts else SpinVisibility.UNKNOWN)
    return replace(told, counted_reason=reason if counts else _why(snapshot, "contention", NOT_COUNTED))


def compare(both: Comparison) -> Contention:
    """Waits a second by CPU, and the waits of the later sample's record."""
    old, new = both.before.contention, both.after.contention
    told = alone(both.after, _why(both.before, "contention", NOT_COUNTED))
    if old is None or new is None:
        return told
    if old.opened_at_ns != new.opened_at_ns:
        both.unknown("contention", SOURCE, _OPENED_ANEW)
        return replace(told, counted_reason=_OPENED_ANEW)
    rates = _rates(both, old, new)
    return replace(told, per_cpu_per_sec=rates or None, counted_reason=None if rates else _NO_CPU)


def _rates(both: Comparison, old: ContentionCounts, new: ContentionCounts) -> dict[int, float]:
    seconds = both.between(old.read_at_ns, new.read_at_ns)
    rates: dict[int, float] = {}
    for cpu, count in new.per_cpu.items():
        if cpu not in old.per_cpu:
            continue
        growth = delta_64(old.per_cpu[cpu], count)
        if growth is None or growth > PLAUSIBLE_PER_SEC * seconds:
            both.unknown(f"cpu{cpu}.contention", SOURCE, "the count fell, or leapt as no CPU can wait")
        else:
            rates[cpu] = growth / seconds
    for cpu in sorted(old.per_cpu.keys() ^ new.per_cpu.keys()):
        both.unknown(f"cpu{cpu}.contention", SOURCE, "the CPU came or went within the interval")
    return rates


def _recorded(snapshot: Snapshot) -> Contention:
    record = snapshot.lock_record
    if record is None:
        return replace(_NOTHING, recorded_reason=_why(snapshot, "lock_record", NOT_RECORDED))
    # 10 ms of patterns, for those who have a record.
    from tuneagent.contention import report  # noqa: PLC0415

    told = report(record, _actions(snapshot))
    return _with(record, replace(_NOTHING, rows=told.rows, unpaired=told.unpaired))


def _with(record: LockRecord, contention: Contention) -> Contention:
    return replace(
        contention,
        seconds=record.seconds,
        lost=record.lost,
        throttled=record.throttled,
        truncated=record.truncated,
        cpu_s=record.cpu_s,
        limits=record.limits,
        watched_s=record.watched_s,
    )


def _actions(snapshot: Snapshot) -> dict[int, str]:
    """Names of interrupts, as people know them: ``virtio0-input.0``."""
    return {line.irq: ", ".join(line.actions) for line in snapshot.irqs or ()}


def _why(snapshot: Snapshot, what: str, otherwise: str) -> str:
    return next((gap.detail for gap in snapshot.missing if gap.what == what), otherwise)


_NOTHING = Contention(
    per_cpu_per_sec=None,
    counted_reason=None,
    spin=SpinVisibility.UNKNOWN,
    seconds=None,
    rows=(),
    recorded_reason=None,
    lost=0,
    throttled=0,
    truncated=False,
    unpaired=0,
    cpu_s=0.0,
    limits=(),
)

"""A look at the waits for locks alone: a hypervisor's hundred machines need not be asked for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tuneagent import rates
from tuneagent.machine.source import Source
from tuneagent.model.contention import LockRecord
from tuneagent.model.missing import Missing
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.observe import contention, counters, irqs
from tuneagent.observe.gaps import Gaps

IMPORTED = "a record holds the waits that were recorded, and counts none besides"
_ABOUT = frozenset({"contention", "lock_record", "lock_stat", "rates"})
_EMPTY = Snapshot(
    clock=None,
    identity=None,
    cpus=None,
    interrupts=None,
    irqs=None,
    virtio=None,
    nics=None,
    softnet=None,
    softirqs=None,
    cpu_times=None,
    protocols=None,
    irqbalance=None,
    missing=(),
)


def counted(source: Source) -> Snapshot:
    """The counts by CPU alone."""
    gaps = Gaps(source)
    clock = gaps.clock()
    counts = contention.counts(gaps)
    return replace(_EMPTY, clock=clock, contention=counts, missing=tuple(gaps.missing))


def whole(source: Source) -> Snapshot:
    """The counts, the record, /proc/lock_stat, and the names of the interrupts."""
    gaps = Gaps(source)
    clock = gaps.clock()
    counts = contention.counts(gaps)
    record, table = contention.record(gaps), contention.table(gaps)
    # Printing the interrupts takes the lock of each: not while the record runs.
    interrupts = counters.observe_interrupts(gaps)
    return replace(
        _EMPTY,
        clock=clock,
        contention=counts,
        lock_record=record,
        lock_stat=table,
        irqs=irqs.observe(gaps, interrupts, None),
        missing=tuple(gaps.missing),
    )


def compared(before: Snapshot, after: Snapshot | None = None) -> View:
    """The view over one moment or two."""
    return rates.alone(before) if after is None else rates.view(before, after)


def of_record(record: LockRecord) -> View:
    """The view of an imported record."""
    return replace(rates.alone(replace(_EMPTY, lock_record=record), IMPORTED), missing=())


def about_locks(missing: Iterable[Missing]) -> tuple[Missing, ...]:
    """Of all that was not seen, what the report is about."""
    return tuple(one for one in dict.fromkeys(missing) if _ABOUT.intersection(one.what.split(".")))

"""Waits for locks of some groups, held against the thresholds; and the words for what cannot be judged of them.

Zero waits mean something only where every wait would have been seen: see :class:`SpinVisibility`. All locks that are
judged here are spinlocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tuneagent.diagnose import sources
from tuneagent.diagnose.subjects import MACHINE
from tuneagent.diagnose.thresholds import LOCK_MIN_WAITS, LOCK_WAIT_PERCENT, LOCK_WAITS_PER_SEC
from tuneagent.diagnose.wording import cpu_list, listed
from tuneagent.model.contention import Contended, Contention, LockGroup, SpinVisibility
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Judgement, Unjudged
from tuneagent.model.view import View

UNNAMED = "[unknown]"
"""How a caller without a name is written (tuneagent.contention.frames)."""
LIST_READER = "show_interrupts"
_BLIND = {
    SpinVisibility.FROM_THIRD: "the kernel's tracepoint shows a wait for a spinlock here only where a third CPU waits",
    SpinVisibility.NONE: "the kernel's tracepoint shows no wait for a spinlock here (virt_spin_lock)",
    SpinVisibility.UNKNOWN: "which waits for spinlocks the kernel's tracepoint shows here is not known",
}


@dataclass(frozen=True, slots=True)
class Waits:
    """Rows of one record taken together."""

    rows: tuple[Contended, ...]
    seconds: float

    @property
    def count(self) -> int:
        """Waits in the record."""
        return sum(row.waits for row in self.rows)

    @property
    def per_sec(self) -> float:
        """Waits a second."""
        return self.count / self.seconds

    @property
    def percent(self) -> float:
        """Time waited, in percent of one CPU's, as far as the waits' ends were seen."""
        return sum(row.wait_total_ns for row in self.rows) / self.seconds / 1e7

    @property
    def longest_us(self) -> float:
        """The longest wait of which the end was seen."""
        return max((row.wait_max_ns for row in self.rows), default=0) / 1e3

    @property
    def cpus(self) -> tuple[int, ...]:
        """CPUs that waited, in order."""
        return tuple(sorted({cpu for row in self.rows for cpu in row.per_cpu}))

    @property
    def too_many(self) -> bool:
        """Whether they are above the thresholds."""
        enough = self.count >= LOCK_MIN_WAITS
        return enough and (self.per_sec >= LOCK_WAITS_PER_SEC or self.percent >= LOCK_WAIT_PERCENT)

    @property
    def described(self) -> str:
        """``450 waits/s on CPUs 0-1, 0.22 % of one CPU's time, the longest 31 us``."""
        time = f"{figure(self.percent)} % of one CPU's time, the longest {figure(self.longest_us)} us"
        unseen = "" if any(row.paired for row in self.rows) else " (no wait's end was seen)"
        return f"{figure(self.per_sec)} waits/s on {cpu_list(self.cpus)}, {time}{unseen}"

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The numbers, with the waits of each CPU."""
        per_cpu: Counter[int] = Counter()
        for row in self.rows:
            per_cpu.update(row.per_cpu)
        shares = ", ".join(f"{cpu}: {count}" for cpu, count in sorted(per_cpu.items())[:16])
        return (
            Evidence("waits_per_sec", self.per_sec, "1/s", sources.LOCK_RECORD),
            Evidence("waited_percent_of_one_cpu", self.percent, "%", sources.LOCK_RECORD),
            Evidence("longest_wait_us", self.longest_us, "us", sources.LOCK_RECORD),
            Evidence("waits_by_cpu", shares or None, "", sources.LOCK_RECORD),
        )


def recorded(view: View, *groups: LockGroup) -> Waits | None:
    """The waits of these groups; None without a record of stacks."""
    known = view.contention
    if known is None or not known.rows_s or known.rows_s < 0:
        return None
    return Waits(tuple(row for row in known.rows if row.group in groups), known.rows_s)


def parted(waits: Waits, rows: Iterable[Contended]) -> Waits:
    """A part of them, over the same time."""
    return Waits(tuple(rows), waits.seconds)


def reads_list(row: Contended) -> bool:
    """Whether it waits while it prints /proc/interrupts (kernel/irq/proc.c)."""
    return LIST_READER in (row.caller, *row.callers[:2])


def by_tasks(waits: Waits) -> str:
    """`` by server, cat``: the tasks that waited most; nothing where none is known."""
    tasks = dict.fromkeys(task for row in waits.rows for task in row.tasks)
    return f" by {listed(tasks)}" if tasks else ""


def without_finding(view: View, rule: str, waits: Waits | None) -> tuple[Judgement, ...]:
    """What to say where no subject is above the thresholds. Nothing where waits were neither counted nor recorded."""
    known = view.contention
    if known is None or (waits is None and known.per_sec is None):
        return ()
    reason = _unsure(known, waits) if waits is not None else _uncounted(known)
    if reason is not None:
        return (Unjudged(rule, MACHINE, reason),)
    counted = (Evidence("waits_of_all_locks_per_sec", known.per_sec, "1/s", sources.LOCK_COUNTS),)
    return (Clear(rule, MACHINE, waits.evidence[:2] if waits is not None else counted),)


def _uncounted(known: Contention) -> str | None:
    """Why few counted waits prove nothing without their stacks; None where they do."""
    if known.spin in _BLIND:
        return f"cannot see: {_BLIND[known.spin]}"
    if (known.per_sec or 0.0) >= LOCK_WAITS_PER_SEC:
        return f"{figure(known.per_sec or 0.0)} waits/s were counted, and at which locks was not recorded"
    return None


def _unsure(known: Contention, waits: Waits) -> str | None:
    """Why few waits prove nothing; None where they do."""
    if known.spin in _BLIND:
        return f"cannot see: {_BLIND[known.spin]}"
    if known.truncated and known.watched_s is None:
        return "more happened than the record of waits holds"
    if (waits.count + known.lost) / waits.seconds >= LOCK_WAITS_PER_SEC:
        return f"the kernel dropped {known.lost:,} events of the record of waits"
    unnamed = parted(waits, (row for row in known.rows if row.caller == UNNAMED))
    return f"{figure(unnamed.per_sec)} waits/s at places without a name" if unnamed.too_many else None

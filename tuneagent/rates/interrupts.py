"""/proc/interrupts against itself: rows by what they are, columns by CPU id."""

from __future__ import annotations

from collections import Counter
from operator import sub

from tuneagent.model.counters import InterruptRow, Interrupts
from tuneagent.model.view import Growth, IrqRate
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.counters import PLAUSIBLE_PER_SEC, WRAP_32, delta_32


def compare(both: Comparison) -> tuple[dict[int, IrqRate], tuple[int, ...], tuple[int, ...]]:
    """(rates by IRQ number, numbers that went, numbers that came). Only CPUs in both tables count."""
    before, after = both.before.interrupts, both.after.interrupts
    if before is None or after is None:
        return {}, (), ()
    seconds = both.between(before.read_at_ns, after.read_at_ns)
    doubled = _doubled(before) | _doubled(after)
    for irq in sorted(doubled):
        both.unknown(
            f"irq.{irq}", "/proc/interrupts", "the number stands in it twice: which row is meant cannot be told"
        )
    old = {row.irq: row for row in before.rows if row.irq is not None and row.irq not in doubled}
    columns = _Columns(before, after)
    for cpu in sorted(set(before.cpus) ^ set(after.cpus)):
        both.unknown(f"interrupts.cpu{cpu}", "/proc/interrupts", "the CPU came or went within the interval")
    rates: dict[int, IrqRate] = {}
    new: list[int] = []
    for row in after.rows:
        if row.irq is None or row.irq in doubled:
            continue
        earlier = old.pop(row.irq, None)
        if earlier is None or not _same(earlier, row):
            new.append(row.irq)
            if earlier is not None:
                old[row.irq] = earlier
            continue
        rate = _irq(both, earlier, row, columns, seconds)
        if rate is not None:
            rates[row.irq] = rate
    return rates, tuple(sorted(old)), tuple(sorted(new))


def _doubled(table: Interrupts) -> set[int]:
    """Numbers of more than one row. No kernel prints such a table; a damaged capture may hold one."""
    numbers = [row.irq for row in table.rows if row.irq is not None]
    if len(set(numbers)) == len(numbers):
        return set()
    return {irq for irq, rows in Counter(numbers).items() if rows > 1}


def _irq(both: Comparison, old: InterruptRow, new: InterruptRow, columns: _Columns, seconds: float) -> IrqRate | None:
    assert new.irq is not None  # noqa: S101 - the caller passes numbered rows only
    if columns.same and old.counts == new.counts:
        return IrqRate(new.irq, 0, {}, 0.0, seconds)
    count = columns.plain_growth(old.counts, new.counts, seconds)
    if count is not None:
        return IrqRate(new.irq, count, Growth(columns.cpus, old.counts, new.counts), count / seconds, seconds)
    per_cpu = _growth(both, new.irq, columns.grown(old.counts, new.counts), seconds)
    if per_cpu is None:
        return None
    count = sum(per_cpu.values())
    return IrqRate(new.irq, count, per_cpu, count / seconds, seconds)


def _growth(both: Comparison, irq: int, grown: list[tuple[int, int, int]], seconds: float) -> dict[int, int] | None:
    """Growth by CPU with wraps unwrapped; None, with a note, where a count cannot have grown so."""
    per_cpu: dict[int, int] = {}
    for cpu, before, after in grown:
        growth = delta_32(before, after, seconds)
        if growth is None:
            both.unknown(f"irq.{irq}", "/proc/interrupts", f"the count on CPU {cpu} {_why(before, after)}")
            return None
        per_cpu[cpu] = growth
    return per_cpu


def _why(before: int, after: int) -> str:
    return "fell: it was reset" if after < before else "cannot have grown so much"


class _Columns:
    """The CPUs that both tables have, as positions in each."""

    def __init__(self, before: Interrupts, after: Interrupts) -> None:
        self.same = before.cpus == after.cpus
        self.cpus = after.cpus
        old = {cpu: position for position, cpu in enumerate(before.cpus)}
        new = {cpu: position for position, cpu in enumerate(after.cpus)}
        self.pairs = tuple((cpu, old[cpu], new[cpu]) for cpu in after.cpus if cpu in old)

    def plain_growth(self, old: tuple[int, ...], new: tuple[int, ...], seconds: float) -> int | None:
        """Growth of all CPUs in the common case, at C speed: none came or went, no count fell or leapt; else None."""
        if not self.same or len(old) != len(new):
            return None
        growth: tuple[int, ...] = tuple(map(sub, new, old))
        if min(growth) < 0 or max(growth) > PLAUSIBLE_PER_SEC * seconds or max(new) >= WRAP_32:
            return None
        return sum(growth)

    def grown(self, old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[int, int, int]]:
        """(CPU, before, after) where they differ, of the CPUs in both tables."""
        return [
            (cpu, old[first], new[last])
            for cpu, first, last in self.pairs
            if first < len(old) and last < len(new) and old[first] != new[last]
        ]


def _same(old: InterruptRow, new: InterruptRow) -> bool:
    """Whether a number means the same interrupt still: it may have been given to another device between two reads.

    On a line that devices share, a handler may join or leave; on one without any, the first may come or the last go.
    """
    if (old.chip, old.hwirq) != (new.chip, new.hwirq):
        return False
    return old.actions == new.actions or not old.actions or not new.actions or bool({*old.actions} & {*new.actions})

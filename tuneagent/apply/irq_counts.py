"""How often one interrupt came to which CPU, and what was added since."""

from __future__ import annotations

from tuneagent.machine.source import Source
from tuneagent.model.counters import InterruptRow
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.observe.gaps import some_cpus
from tuneagent.parse import interrupts, irq_actions, per_cpu_count

Counts = dict[int, int]
"""By CPU, since boot."""
_POSSIBLE = "/sys/devices/system/cpu/possible"
_U32 = 1 << 32


def counts(source: Source, irq: int) -> Counts | None:
    """By CPU, from the interrupt's own file, else from its row of /proc/interrupts; None where neither tells.

    That table costs the kernel a lock for each interrupt, and the file none (kernel/irq/proc.c show_interrupts()).
    """
    try:
        possible = some_cpus(source.read(_POSSIBLE).text)
        return per_cpu_count.parse(source.read(f"/sys/kernel/irq/{irq}/per_cpu_count").text, possible)
    except (SourceError, ParseError):
        return _of_table(source, irq)


def has_handler(source: Source, irq: int) -> bool:
    """Whether anybody handles the interrupt now: one that was freed keeps its number for a while."""
    try:
        return bool(irq_actions.parse(source.read(f"/sys/kernel/irq/{irq}/actions").text))
    except (SourceError, ParseError):
        found = _row(source, irq)
        return found is not None and bool(found[1].actions)


def growth(before: Counts, now: Counts) -> Counts:
    """What was added on each CPU that both tell of; a count has 32 bits and wraps."""
    return {cpu: (now[cpu] - before[cpu]) % _U32 for cpu in before.keys() & now.keys() if now[cpu] != before[cpu]}


def parted(grown: Counts, cpus: CpuSet) -> tuple[int, int]:
    """How many of these came to one of ``cpus``, and how many did not."""
    inside = sum(count for cpu, count in grown.items() if cpu in cpus)
    return inside, sum(grown.values()) - inside


def _of_table(source: Source, irq: int) -> Counts | None:
    found = _row(source, irq)
    if found is None or not found[1].counts:
        return None
    cpus, row = found
    return dict(zip(cpus, row.counts, strict=True))


def _row(source: Source, irq: int) -> tuple[tuple[int, ...], InterruptRow] | None:
    """The table's CPUs and the interrupt's row; None where there is none, or no table."""
    try:
        table = interrupts.parse(_only(source.read("/proc/interrupts").text, irq))
    except (SourceError, ParseError):
        return None
    return next(((table.cpus, row) for row in table.rows if row.irq == irq), None)


def _only(text: str, irq: int) -> str:
    """The table's head and this interrupt's row: to parse them all for each of 64 would take a second."""
    head, *lines = text.split("\n")
    return "\n".join((head, *(line for line in lines if line.partition(":")[0].strip() == str(irq))))

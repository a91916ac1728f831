"""How many interrupts a guest took over the interval: numbered ones and its CPUs' own vectors."""

from __future__ import annotations

from tuneagent.join.known import Known, told, unknown
from tuneagent.model.counters import Interrupts
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.view import View

X86_VECTORS = frozenset(
    {"LOC", "SPU", "IWI", "RTR", "RES", "CAL", "TRM", "THR", "DFR", "HYP", "HRE", "HVS", "PIN", "NPI", "PIW"}
)
"""Rows of arch_show_interrupts() (arch/x86/kernel/irq.c) that count external interrupts.

NMI and PMI are no such interrupts, MCE and MCP no interrupts at all, ERR and MIS single totals; TLB shootdowns arrive
as function calls and are counted in CAL as well.
"""
_WRAP = 1 << 32
_PLAUSIBLE_PER_SEC = 50_000_000
_UNEVEN = "the CPUs of the guest changed within the interval: its interrupts cannot be counted"


def per_sec(guest: View) -> Known:
    """Interrupts a second that a guest counted in /proc/interrupts."""
    before = guest.before.interrupts if guest.before is not None else None
    after = guest.after.interrupts
    if before is None or after is None or guest.interval_s is None:
        return unknown("the guest tells no /proc/interrupts")
    if before.cpus != after.cpus:
        return unknown(_UNEVEN)
    if guest.irqs_gone or guest.irqs_new or any(map(_uncounted, guest.missing)):
        return unknown("not every interrupt of the guest can be counted over the interval")
    seconds = next((rate.seconds for rate in guest.irqs.values()), guest.interval_s)
    vectors = _vectors(before, after, seconds)
    if vectors is None:
        return unknown("a count of the guest's own vectors cannot have grown so")
    return told(sum(rate.per_sec for rate in guest.irqs.values()) + vectors / seconds)


def _uncounted(missing: Missing) -> bool:
    """Whether this is an interrupt whose count cannot be compared; that its place is not known does not matter here."""
    return missing.reason is Reason.UNKNOWABLE and missing.what.removeprefix("irq.").isdecimal()


def _vectors(before: Interrupts, after: Interrupts, seconds: float) -> int | None:
    """Growth of the architecture's rows over all CPUs; None where one cannot have grown so."""
    old = {row.label: row.counts for row in before.rows if row.irq is None and row.label in X86_VECTORS}
    growth = [
        (last - first) % _WRAP
        for row in after.rows
        if row.irq is None and row.label in old
        for first, last in zip(old[row.label], row.counts, strict=False)
    ]
    return None if growth and max(growth) > _PLAUSIBLE_PER_SEC * seconds else sum(growth)

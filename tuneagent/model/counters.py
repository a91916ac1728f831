"""Counters as the kernel prints them: cumulative, never yet a rate.

Every table carries ``read_at_ns``, the CLOCK_MONOTONIC time of its own read, or None where the input is a captured
tree without a clock. Rates divide by the difference of these, not by the time between two snapshots.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InterruptRow:
    """One row of /proc/interrupts (kernel/irq/proc.c ``show_interrupts``, arch ``arch_show_interrupts``)."""

    label: str
    """Text before the first colon: an IRQ number or an architecture's label (``LOC``, ``ERR``, ``IPI0``)."""
    irq: int | None
    """The IRQ number where the label is one."""
    counts: tuple[int, ...]
    """32-bit counts, one a CPU in the order of ``Interrupts.cpus``; empty where the row has no per-CPU counts."""
    total: int | None
    """Sum of the counts, or the row's single total (``ERR``, ``MIS``); None where the row has no number at all."""
    chip: str | None
    hwirq: str | None
    """Hardware interrupt number as printed; not every chip has one."""
    trigger: str | None
    """``edge``, ``level``, ``fasteoi``… as printed, without its dash."""
    actions: tuple[str, ...]
    """Handlers' names; empty when the handler has gone. For architecture rows see ``description``."""
    description: str | None
    """All text after the counts, as printed."""
    text: str
    """The row as read, so that an unchanged row is recognised without a second look."""


@dataclass(frozen=True, slots=True)
class Interrupts:
    """/proc/interrupts. Rows keep their order and may share a label (ppc64 prints LOC twice)."""

    cpus: tuple[int, ...]
    """CPU ids of the columns; ids, not positions: CPUs may have holes."""
    rows: tuple[InterruptRow, ...]
    read_at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class SoftnetRow:
    """One row of /proc/net/softnet_stat (net/core/net-procfs.c ``softnet_seq_show``): hexadecimal, 32 bits each."""

    cpu: int | None
    """CPU id: printed since kernel commit 7d58e6555870 (13 columns); before that, given by the reader or None."""
    processed: int
    dropped: int
    time_squeeze: int
    received_rps: int | None = None
    flow_limit_count: int | None = None
    backlog_length: int | None = None
    input_qlen: int | None = None
    process_qlen: int | None = None


@dataclass(frozen=True, slots=True)
class Softnet:
    """/proc/net/softnet_stat, one row an *online* CPU. ``warning`` says when the printed CPU ids were not usable."""

    rows: tuple[SoftnetRow, ...]
    columns: int
    warning: str | None = None
    read_at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Softirqs:
    """/proc/softirqs: for each softirq name, 32-bit counts in the order of ``cpus`` (*possible* CPUs)."""

    cpus: tuple[int, ...]
    counts: dict[str, tuple[int, ...]]
    read_at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class CpuTime:
    """One ``cpuN`` row of /proc/stat (fs/proc/stat.c): ticks of 1/USER_HZ s; None for a column the kernel lacks."""

    cpu: int
    user: int
    nice: int
    system: int
    idle: int
    iowait: int | None
    irq: int | None
    softirq: int | None
    steal: int | None
    guest: int | None
    guest_nice: int | None


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """The per-CPU rows of /proc/stat."""

    rows: tuple[CpuTime, ...]
    read_at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Protocols:
    """/proc/net/snmp and /proc/net/netstat: ``{"Tcp": {"RetransSegs": 12, …}, …}`` by the names the kernel prints."""

    counters: dict[str, dict[str, int]]
    read_at_ns: int | None = None

"""Waiting for the kernel's locks: how often, by whom, at which lock, and what could not be told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SpinVisibility(StrEnum):
    """Which waits for spinlocks the tracepoint lock:contention_begin shows here.

    kernel/locking/qspinlock.c and arch/x86/include/asm/qspinlock.h: it fires in the queueing path only.
    """

    EVERY = "every"
    """Paravirtual spinlocks: each wait takes the queueing path."""
    FROM_THIRD = "from-third"
    """Native queued spinlocks: the second waiter spins on the pending bit and is not seen."""
    NONE = "none"
    """virt_spin_lock() of a guest without paravirtual spinlocks: no wait for a spinlock is seen."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ContentionCounts:
    """lock:contention_begin counted by CPU since the counters were opened (perf_event_open(2))."""

    per_cpu: dict[int, int]
    opened_at_ns: int
    """CLOCK_MONOTONIC: counts of two openings are not comparable."""
    read_at_ns: int | None
    spin: SpinVisibility


class LockKind(StrEnum):
    """The kind of lock, by the tracepoint's flags (include/trace/events/lock.h)."""

    SPIN = "spinlock"
    RWLOCK_READ = "rwlock-read"
    RWLOCK_WRITE = "rwlock-write"
    MUTEX = "mutex"
    RWSEM_READ = "rwsem-read"
    RWSEM_WRITE = "rwsem-write"
    RT = "rt-mutex"
    PERCPU = "percpu-rwsem"
    OTHER = "other"


class Context(StrEnum):
    """What the CPU was doing when it waited."""

    TASK = "task"
    SOFTIRQ = "softirq"
    HARDIRQ = "hardirq"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a kernel stack."""

    symbol: str | None
    """None where no symbol covers the address."""
    module: str | None
    """None for the kernel proper."""
    offset: int | None
    """Bytes into the symbol."""


Stack = tuple[Frame, ...]
"""Frames, innermost first."""


@dataclass(frozen=True, slots=True)
class LockEvent:
    """One event of the record: a wait begun or ended, an interrupt handled, a packet given to a device."""

    kind: str
    """``contention_begin``, ``contention_end``, ``irq_handler_entry``, ``irq_handler_exit``, ``net_dev_start_xmit``."""
    time_ns: int
    cpu: int
    tid: int
    address: int | None
    """Of the lock; None for the other kinds."""
    flags: int | None
    """LCB_F_* of contention_begin."""
    irq: int | None
    device: str | None
    stack: int | None
    """Index into ``LockRecord.stacks``; None without one."""


@dataclass(frozen=True, slots=True)
class LockRecord:
    """All waits within a bounded time, as the kernel told them."""

    seconds: float
    events: tuple[LockEvent, ...]
    """In order of time on each CPU."""
    stacks: tuple[Stack, ...]
    tasks: dict[int, str]
    """Names of the tasks by thread id, as far as they were told."""
    lost: int
    """Events that the kernel dropped because the buffer was full."""
    throttled: int
    """Times that the kernel held the sampling back."""
    truncated: bool
    """Whether the bound on events was reached before the time was up."""
    cpu_s: float
    """CPU time that recording and reading it cost."""
    limits: tuple[str, ...]
    """What else it does not show, for people."""
    read_at_ns: int | None
    watched_s: float | None = None
    """The part of ``seconds`` in which events were taken, where that was not all of it."""


class LockGroup(StrEnum):
    """What people call the lock."""

    IRQ_DESCRIPTOR = "interrupt-descriptor"
    TRANSMIT = "transmit-queue"
    QDISC = "qdisc"
    NEIGHBOUR_ROUTE = "neighbour-and-route"
    SOCKET = "socket"
    MEMORY = "memory"
    RUNQUEUE = "runqueue"
    FUTEX = "futex"
    FILES = "files"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Contended:
    """Waits at one place: one group, kind of lock and caller, over the seconds of the record."""

    group: LockGroup
    kind: LockKind
    caller: str
    """The first frame that is not the lock's own code."""
    waits: int
    paired: int
    """Waits whose end was seen; the times rest on these."""
    wait_total_ns: int
    wait_max_ns: int
    per_cpu: dict[int, int]
    contexts: dict[Context, int]
    tasks: tuple[str, ...]
    """Names of those that waited most."""
    locks: int
    """Different lock addresses."""
    subject: str | None
    """``IRQ 31 (virtio0-input.0)``, ``eth0``; None where the events cannot tell."""
    subject_reason: str
    """How it is known, or why it cannot be told."""
    irq: int | None = None
    device: str | None = None
    callers: tuple[str, ...] = ()
    """The stack above the caller, nearest first, for showing."""


@dataclass(frozen=True, slots=True)
class Contention:
    """What is known of waiting over an interval."""

    per_cpu_per_sec: dict[int, float] | None
    """Waits a second by CPU, counted; None where they were not."""
    counted_reason: str | None
    """Why they were not."""
    spin: SpinVisibility
    seconds: float | None
    """Length of the record of stacks; None where there is none."""
    rows: tuple[Contended, ...]
    """Longest total wait first."""
    recorded_reason: str | None
    """Why there is no record."""
    lost: int
    throttled: int
    truncated: bool
    unpaired: int
    """Waits whose end fell outside of the record."""
    cpu_s: float
    limits: tuple[str, ...]
    watched_s: float | None = None
    """The seconds that the rows rest on, where these are fewer: many waits are recorded in windows of the time."""

    @property
    def rows_s(self) -> float | None:
        """The seconds by which what the rows count is divided; None without a record."""
        return self.seconds if self.watched_s is None else self.watched_s

    @property
    def per_sec(self) -> float | None:
        """Waits a second on all CPUs."""
        return None if self.per_cpu_per_sec is None else sum(self.per_cpu_per_sec.values())


@dataclass(frozen=True, slots=True)
class LockClass:
    """One class of /proc/lock_stat; times in µs (Documentation/locking/lockstat.rst)."""

    name: str
    contentions: int
    con_bounces: int
    wait_min_us: float
    wait_max_us: float
    wait_total_us: float
    wait_avg_us: float | None
    """None before version 0.4."""
    acquisitions: int
    acq_bounces: int
    hold_min_us: float
    hold_max_us: float
    hold_total_us: float
    hold_avg_us: float | None
    points: tuple[tuple[str, int], ...]
    """(symbol+offset, count) of the places that waited; the rows -R and -W of one class share them."""
    holders: tuple[tuple[str, int], ...] = ()
    """(symbol+offset, count) of the places that held the lock meanwhile; shared in the same way."""


@dataclass(frozen=True, slots=True)
class LockStat:
    """/proc/lock_stat as a whole."""

    version: str
    enabled: bool | None
    """kernel.lock_stat; None where that is not known."""
    warning: bool
    """Lock debugging was switched off by a fault: the figures stand still."""
    classes: tuple[LockClass, ...]
    read_at_ns: int | None = None


class ImportedBy(StrEnum):
    """What a row of ``perf lock contention`` stands for (tools/perf/builtin-lock.c, ``aggr_mode``)."""

    CALLER = "caller"
    TASK = "task"
    OWNER = "owner"
    """The task that held the lock."""
    LOCK = "lock"
    CGROUP = "cgroup"


@dataclass(frozen=True, slots=True)
class ImportedWaits:
    """One row of ``perf lock contention``; None for a column that was not printed."""

    name: str | None
    """Symbol of the caller or of the lock, name of the task, path of the cgroup; None where perf knew none."""
    kind: LockKind | None
    """None for tasks and cgroups, and for ``rwlock`` and ``rwsem`` without their direction."""
    kind_text: str | None
    """The type as printed."""
    waits: int | None
    wait_total_ns: int | None
    wait_max_ns: int | None
    wait_min_ns: int | None
    wait_avg_ns: int | None
    offset: int | None = None
    """Bytes into the caller's symbol."""
    tid: int | None = None
    address: int | None = None
    """Of the lock; also of a caller without symbol."""
    stack: Stack = ()
    """Printed by -v only."""


@dataclass(frozen=True, slots=True)
class ImportedLocks:
    """What a text of ``perf lock contention`` says."""

    by: ImportedBy
    rows: tuple[ImportedWaits, ...]
    """In the order of the text."""
    rounded: bool
    """Whether the times are cut to two decimals of their unit: all forms but that of -x."""
    bad: int | None
    """Broken sequences of events, or waits that perf could not keep; None where it did not say."""
    total: int | None
    remarks: tuple[str, ...]
    """Perf's own warnings, as printed."""

"""contention_begin with its contention_end: what was waited for, where, and how long.

include/trace/events/lock.h and its callers: qspinlock.c, qrwlock.c, mutex.c, rwsem.c, rtmutex.c, percpu-rwsem.c and
semaphore.c of kernel/locking. A wait that spins stays on its CPU with its task; one that sleeps may end on another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tuneagent.model.contention import LockEvent, LockKind

BEGIN = "contention_begin"
END = "contention_end"

_SPIN, _READ, _WRITE, _RT, _PERCPU, _MUTEX = 1, 2, 4, 8, 16, 32
"""LCB_F_* of include/trace/events/lock.h."""
_IDLE = 0
"""Thread id of the idle task, of which each CPU has its own."""


@dataclass(slots=True)
class Wait:
    """One wait: where it began, and when it ended; None where no end was seen."""

    begin: LockEvent
    kind: LockKind
    end_ns: int | None = None
    last_flags: int = 0

    @property
    def waited_ns(self) -> int | None:
        """How long it took; None where that is not known."""
        return None if self.end_ns is None else self.end_ns - self.begin.time_ns


@dataclass(frozen=True, slots=True)
class Paired:
    """All waits in order of their begin."""

    waits: tuple[Wait, ...]
    repeated: int
    """Begins that only say that the same wait for a mutex now spins, or sleeps again."""


def in_order(events: Iterable[LockEvent]) -> tuple[LockEvent, ...]:
    """By time over all CPUs; those of one time keep their order."""
    return tuple(sorted(events, key=_time))


def pair(events: Sequence[LockEvent]) -> Paired:
    """The waits of events that are in order of time. An end without a begin belongs to a wait before the record."""
    waits: list[Wait] = []
    spinning: dict[tuple[int, int, int | None], Wait] = {}
    sleeping: dict[tuple[int, int | None], Wait] = {}
    repeated = 0
    for event in events:
        spot, thread = (event.cpu, event.tid, event.address), (event.tid, event.address)
        if event.kind == BEGIN:
            if _goes_on(sleeping.get(thread), event):
                repeated += 1
                continue
            wait = Wait(event, kind(event.flags), last_flags=event.flags or 0)
            waits.append(wait)
            # Who waits here already has lost its end: it stays in waits without one.
            if _stays(wait):
                spinning[spot] = wait
            else:
                sleeping[thread] = wait
        elif event.kind == END:
            ended = spinning.pop(spot, None) or sleeping.pop(thread, None)
            if ended is not None:
                ended.end_ns = event.time_ns
    return Paired(tuple(waits), repeated)


def kind(flags: int | None) -> LockKind:
    """The kind of lock by the flags of contention_begin."""
    if flags is None:
        return LockKind.OTHER
    if flags & _MUTEX:
        return LockKind.MUTEX
    if flags & _PERCPU:
        return LockKind.PERCPU
    if flags & _RT:
        return LockKind.RT
    if flags & _SPIN:
        return _one_of(flags, LockKind.RWLOCK_READ, LockKind.RWLOCK_WRITE, LockKind.SPIN)
    return _one_of(flags, LockKind.RWSEM_READ, LockKind.RWSEM_WRITE, LockKind.OTHER)


def _one_of(flags: int, read: LockKind, write: LockKind, neither: LockKind) -> LockKind:
    if flags & _READ:
        return read
    return write if flags & _WRITE else neither


def _stays(wait: Wait) -> bool:
    return wait.kind in {LockKind.SPIN, LockKind.RWLOCK_READ, LockKind.RWLOCK_WRITE} or wait.begin.tid == _IDLE


def _goes_on(wait: Wait | None, event: LockEvent) -> bool:
    """Whether this begin is of a wait that goes on.

    mutex.c tells each change between spinning (MUTEX and SPIN) and sleeping (MUTEX alone) by another begin, each from a
    place of its own, and one end closes them all. Twice the same, or the first place again, means that the end between
    them was lost.
    """
    if wait is None or event.flags is None or not event.flags & wait.last_flags & _MUTEX:
        return False
    if event.stack is not None and event.stack == wait.begin.stack:
        return False
    if (event.flags ^ wait.last_flags) & _SPIN:
        wait.last_flags = event.flags
        return True
    return False


def _time(event: LockEvent) -> int:
    return event.time_ns

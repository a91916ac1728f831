"""Which interrupt or device a lock belongs to: the tracepoint gives an address only, and what happens beside it tells.

kernel/irq/handle.c takes the descriptor's lock again right after the handler, so the irq_handler_exit before such a
wait on its CPU is of the same interrupt: that is sure. kernel/irq/chip.c takes it right before the handler, unless
another CPU still runs that: then no handler follows, or a later one of another interrupt. So these count only where
there is nothing sure. include/linux/netdevice.h HARD_TX_LOCK: the packet is given to the device right behind the lock.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tuneagent.contention.pairing import BEGIN, END, Wait
from tuneagent.contention.place import Place
from tuneagent.model.contention import LockEvent, LockGroup

T = TypeVar("T")
AGREEMENT = 0.75
"""Part of what was seen beside a lock's waits that must be one and the same."""
FEWEST_LIKELY = 2
"""Waits that must agree where none of them is sure."""
MOST_BEFORE_NS = 1_000_000
"""From the end of a handler to the lock behind it; a virtual machine may be held up between them."""
MOST_AFTER_NS = 100_000
"""From the lock to the handler, or to the device, behind it."""

NO_OBJECT = "the kernel's events name no object of this lock"
SOME_INTERRUPT = "some interrupt: the events do not tell which"
SOME_DEVICE = "some device: the events do not tell which"
ALL_INTERRUPTS = "one lock for all interrupts, which irq_do_set_affinity() takes before Linux 6.11"

_BEFORE_HANDLER = frozenset(
    {
        "handle_edge_irq",
        "handle_edge_eoi_irq",
        "handle_fasteoi_irq",
        "handle_fasteoi_ack_irq",
        "handle_fasteoi_mask_irq",
        "handle_level_irq",
        "handle_simple_irq",
        "handle_untracked_irq",
    }
)
_AFTER_HANDLER = "handle_irq_event"
_GLOBAL_LOCK = "irq_do_set_affinity"
_SENDING = frozenset({LockGroup.TRANSMIT, LockGroup.QDISC})
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose lock it is, as far as that can be told, and how it is known or why it is not."""

    reason: str
    irq: int | None = None
    device: str | None = None


class Owners:
    """What is known of each lock's address, from all events and the waits among them."""

    def __init__(self, events: Iterable[LockEvent], waits: Iterable[tuple[Wait, Place]]) -> None:
        self._beside = _Beside(events)
        self._sure: defaultdict[int | None, Counter[int]] = defaultdict(Counter)
        self._likely: defaultdict[int | None, Counter[int]] = defaultdict(Counter)
        self._devices: defaultdict[int | None, Counter[str]] = defaultdict(Counter)
        self._waits: Counter[int | None] = Counter()
        self._known: dict[tuple[int | None, LockGroup], Owner] = {}
        for wait, place in waits:
            self._waits[wait.begin.address] += 1
            self._look_beside(wait, place)

    def of(self, address: int | None, place: Place) -> Owner:
        """The owner of the lock at an address that somebody waits for at this place."""
        if place.group is LockGroup.IRQ_DESCRIPTOR and place.caller == _GLOBAL_LOCK:
            return Owner(ALL_INTERRUPTS)
        key = (address, place.group)
        if key not in self._known:
            self._known[key] = self._owner(address, place.group)
        return self._known[key]

    def _look_beside(self, wait: Wait, place: Place) -> None:
        address = wait.begin.address
        if place.caller == _AFTER_HANDLER:
            done = self._beside.before(wait)
            if done is not None and done.kind == "irq_handler_exit" and done.irq is not None:
                self._sure[address][done.irq] += 1
        elif place.caller in _BEFORE_HANDLER:
            next_one = self._beside.after(wait)
            if next_one is not None and next_one.kind == "irq_handler_entry" and next_one.irq is not None:
                self._likely[address][next_one.irq] += 1
        elif place.group in _SENDING:
            device = self._device(wait, place)
            if device is not None:
                self._devices[address][device] += 1

    def _device(self, wait: Wait, place: Place) -> str | None:
        given = self._beside.after(wait)
        if given is None or given.device is None:
            return None
        # Below a stacked device the lock is of the lower one. Where that only queues the packet, what follows is the
        # next packet on its way through the upper one, which has nothing to do with the lock.
        upper = self._beside.before(wait) if place.stacked else None
        return None if upper is not None and upper.device == given.device else given.device

    def _owner(self, address: int | None, group: LockGroup) -> Owner:
        if group is LockGroup.IRQ_DESCRIPTOR:
            return self._interrupt(address)
        if group in _SENDING:
            return self._sends(address)
        return Owner(NO_OBJECT)

    def _interrupt(self, address: int | None) -> Owner:
        sure = self._sure.get(address)
        seen = sure or self._likely.get(address, Counter())
        irq = _majority(seen, 1 if sure else FEWEST_LIKELY)
        if irq is not None:
            return Owner(self._how("beside the handler of this interrupt", seen[irq], address), irq=irq)
        return Owner(_disagreement("some interrupt", "handlers of IRQ", seen) or SOME_INTERRUPT)

    def _sends(self, address: int | None) -> Owner:
        seen = self._devices.get(address, Counter())
        device = _majority(seen, 1)
        if device is not None:
            return Owner(self._how("right before a packet given to this device", seen[device], address), device=device)
        return Owner(_disagreement("some device", "packets to", seen) or SOME_DEVICE)

    def _how(self, where: str, count: int, address: int | None) -> str:
        return f"{where}: {count} of the {self._waits[address]} waits at this lock"


class _Beside:
    """What lies next to a wait on its CPU, other than waits."""

    def __init__(self, events: Iterable[LockEvent]) -> None:
        self._events: defaultdict[int, list[LockEvent]] = defaultdict(list)
        for event in events:
            if event.kind not in {BEGIN, END}:
                self._events[event.cpu].append(event)
        self._times = {cpu: [event.time_ns for event in told] for cpu, told in self._events.items()}

    def before(self, wait: Wait) -> LockEvent | None:
        """The last event before the wait, shortly before it."""
        cpu, begin_ns = wait.begin.cpu, wait.begin.time_ns
        place = bisect_right(self._times.get(cpu, ()), begin_ns) - 1
        if place < 0:
            return None
        event = self._events[cpu][place]
        return event if begin_ns - event.time_ns <= MOST_BEFORE_NS else None

    def after(self, wait: Wait) -> LockEvent | None:
        """The first event after the wait, shortly after it; None where its end was not seen."""
        cpu, end_ns = wait.begin.cpu, wait.end_ns
        if end_ns is None:
            return None
        place = bisect_left(self._times.get(cpu, ()), end_ns)
        if place == len(self._times.get(cpu, ())):
            return None
        event = self._events[cpu][place]
        return event if event.time_ns - end_ns <= MOST_AFTER_NS else None


def _majority(seen: Mapping[T, int], fewest: int) -> T | None:
    """What at least ``fewest`` and by far the most agree on."""
    if not seen:
        return None
    first = max(seen, key=lambda one: seen[one])
    return first if seen[first] >= fewest and seen[first] >= AGREEMENT * sum(seen.values()) else None


def _disagreement(some: str, what: str, seen: Counter[T]) -> str | None:
    if len(seen) <= 1:
        return None
    named = ", ".join(f"{one} ({count})" for one, count in seen.most_common(_MOST_NAMED))
    return f"{some}: beside the waits at this lock are {what} {named}{', …' if len(seen) > _MOST_NAMED else ''}"

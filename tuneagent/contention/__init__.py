"""A record of waits for locks → where, by whom, for which lock and how long. Pure; what cannot be told is said.

The events are those of include/trace/events/lock.h, irq.h and net.h, in one record with kernel stacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tuneagent.contention.attribution import Owner, Owners
from tuneagent.contention.pairing import Wait, in_order, pair
from tuneagent.contention.place import Place, Places
from tuneagent.model.contention import Contended, Context, LockRecord

MOST_TASKS = 4
"""Names of tasks in a row."""


@dataclass(frozen=True, slots=True)
class Report:
    """All waits of a record by place, the longest total first."""

    rows: tuple[Contended, ...]
    waits: int
    unpaired: int
    """Waits whose end was not seen."""
    repeated: int
    """Begins beyond one a wait: a wait for a mutex that changes from spinning to sleeping says so by another."""


def report(record: LockRecord, actions: Mapping[int, str] | None = None) -> Report:
    """The waits of a record by group, kind of lock, caller and lock's owner.

    ``actions`` are names of interrupts: ``{31: "virtio0-input.0"}``. Never raises for what the record holds.
    """
    events = in_order(record.events)
    paired = pair(events)
    places = Places(record.stacks)
    placed = [(wait, places.of(wait)) for wait in paired.waits]
    owners = Owners(events, placed)
    rows = _rows(placed, owners, record.tasks, actions or {})
    unpaired = sum(1 for wait in paired.waits if wait.end_ns is None)
    return Report(tuple(rows), len(paired.waits), unpaired, paired.repeated)


@dataclass(slots=True)
class _Row:
    """Waits of one place and owner as they add up."""

    owner: Owner
    waited_ns: list[int] = field(default_factory=list)
    per_cpu: Counter[int] = field(default_factory=Counter)
    contexts: Counter[Context] = field(default_factory=Counter)
    tids: Counter[int] = field(default_factory=Counter)
    addresses: set[int | None] = field(default_factory=set)
    callers: Counter[tuple[str, ...]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, wait: Wait, place: Place, reason: str) -> None:
        """One more wait."""
        begin = wait.begin
        if wait.waited_ns is not None:
            self.waited_ns.append(wait.waited_ns)
        self.per_cpu[begin.cpu] += 1
        self.addresses.add(begin.address)
        self.callers[place.callers] += 1
        self.reasons[reason] += 1
        if place.context is not None:
            self.contexts[place.context] += 1
        # An interrupt is charged to the task that it came upon, which has nothing to do with it.
        if begin.tid and place.context in {None, Context.TASK}:
            self.tids[begin.tid] += 1

    def contended(self, place: Place, tasks: Mapping[int, str], actions: Mapping[int, str]) -> Contended:
        """The noun."""
        return Contended(
            group=place.group,
            kind=place.kind,
            caller=place.caller,
            waits=self.per_cpu.total(),
            paired=len(self.waited_ns),
            wait_total_ns=sum(self.waited_ns),
            wait_max_ns=max(self.waited_ns, default=0),
            per_cpu=dict(sorted(self.per_cpu.items())),
            contexts=dict(self.contexts.most_common()),
            tasks=_names(self.tids, tasks),
            locks=len(self.addresses),
            subject=_subject(self.owner, actions),
            subject_reason=self.reasons.most_common(1)[0][0],
            irq=self.owner.irq,
            device=self.owner.device,
            callers=self.callers.most_common(1)[0][0],
        )


def _rows(
    placed: Iterable[tuple[Wait, Place]], owners: Owners, tasks: Mapping[int, str], actions: Mapping[int, str]
) -> list[Contended]:
    rows: dict[tuple[str, ...], tuple[Place, _Row]] = {}
    for wait, place in placed:
        owner = owners.of(wait.begin.address, place)
        key = (place.group, place.kind, place.caller, str(owner.irq), str(owner.device))
        if key not in rows:
            rows[key] = place, _Row(owner)
        rows[key][1].add(wait, place, owner.reason)
    return sorted((row.contended(place, tasks, actions) for place, row in rows.values()), key=_longest_first)


def _longest_first(row: Contended) -> tuple[int, int, str, str, str, str]:
    return -row.wait_total_ns, -row.waits, row.group, row.kind, row.caller, row.subject or ""


def _subject(owner: Owner, actions: Mapping[int, str]) -> str | None:
    if owner.irq is None:
        return owner.device
    action = actions.get(owner.irq)
    return f"IRQ {owner.irq} ({action})" if action else f"IRQ {owner.irq}"


def _names(tids: Counter[int], tasks: Mapping[int, str]) -> tuple[str, ...]:
    """Names of those that waited most, each once."""
    waits: Counter[str] = Counter()
    for tid, count in tids.items():
        if tid in tasks:
            waits[tasks[tid]] += count
    return tuple(name for name, _ in waits.most_common(MOST_TASKS))

"""The captured source ``lock-record`` out of the kernel's records: events, stacks with names, and what was lost."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tuneagent.machine import kallsyms
from tuneagent.machine.kallsyms import Symbols
from tuneagent.model.errors import SourceError
from tuneagent.parse import perf_records
from tuneagent.parse.perf_records import Loss, Traced, Traces
from tuneagent.parse.tracepoint_format import Format

MOST_EVENTS = 50_000
MOST_TASKS = 4096
SLACK_NS = 1_000_000_000
"""Between the moments at which a window was opened and shut and those that we noted: we may not run meanwhile."""
MOST_NAME = 64
"""Four times IFNAMSIZ: each byte of a name may be escaped."""
IDLE = "swapper"
OURS = "tuneagent (this process)"
"""Our own threads, whatever they are called: what watches must not be taken for what is watched."""
BEGIN, END = "contention_begin", "contention_end"
AROUND = frozenset({"irq_handler_entry", "irq_handler_exit", "net_dev_start_xmit"})
"""Kinds of which those next to a wait on its CPU are kept: they tell whose lock it was."""
_SPIN, _MUTEX = 1, 32
"""LCB_F_* of include/trace/events/lock.h: who spins stays on its CPU, but at a mutex: there it may go to sleep."""

Row = list[Any]
"""[kind, time_ns, cpu, tid, address, flags, irq, device, stack]"""
_KIND, _TIME, _CPU, _TID, _ADDRESS, _FLAGS, _IRQ, _DEVICE, _STACK = range(9)


@dataclass(frozen=True, slots=True)
class Window:
    """What one CPU wrote while it was watched."""

    cpu: int
    began_ns: int
    ended_ns: int
    data: bytes
    ids: Mapping[int, str]
    """Kinds of events by the kernel's ids."""
    counted: int
    """Events of all kinds, as the kernel counted them: what is not in ``data`` was lost."""


class _Gaps:
    """When events of a CPU may be missing."""

    def __init__(self) -> None:
        self._spans: dict[int | None, list[tuple[int, int]]] = {}

    def add(self, cpu: int, began_ns: int, ended_ns: int) -> None:
        """Of one CPU, which is one of all too."""
        for key in (cpu, None):
            self._spans.setdefault(key, []).append((began_ns, ended_ns))

    def sort(self) -> None:
        """To be called before within(): spans that overlap become one."""
        self._spans = {key: _merged(spans) for key, spans in self._spans.items()}

    def within(self, cpu: int | None, began_ns: int, ended_ns: int) -> bool:
        """Whether anything is missing between these times, on this CPU or on any."""
        spans = self._spans.get(cpu, [])
        after = bisect_left(spans, (ended_ns, 0))
        return after > 0 and spans[after - 1][1] > began_ns


@dataclass(slots=True)
class _Found:
    """What all windows together hold."""

    rows: list[Row]
    chains: dict[bytes, int]
    names: dict[int, str]
    lost: int = 0
    unseen: int = 0
    """Of these, those of which the kernel says nothing but that it counted them."""
    throttled: int = 0
    faults: int = 0
    dropped_ends: int = 0


def value(windows: Sequence[Window], formats: Mapping[str, Format]) -> dict[str, Any]:
    """The members that rest on the records: all but ``seconds`` and ``cpu_s``."""
    found, gaps = _Found([], {}, {}), _gaps_between(windows)
    for window in windows:
        _add(found, window, formats, gaps)
    gaps.sort()
    found.rows.sort(key=_time)
    kept = _next_to_waits(_timed(found, gaps))
    rows = kept[:MOST_EVENTS]
    limits = _limits(found)
    if len(kept) > MOST_EVENTS:
        limits.append(f"the first {MOST_EVENTS} of {len(kept)} events are kept")
    return {
        "events": rows,
        "stacks": _stacks(found.chains, limits),
        "tasks": _tasks(rows, found.names),
        "lost": found.lost,
        "throttled": found.throttled,
        "truncated": len(kept) > MOST_EVENTS,
        "limits": limits,
    }


def _add(found: _Found, window: Window, formats: Mapping[str, Format], gaps: _Gaps) -> None:
    begins = {event for event, kind in window.ids.items() if kind == BEGIN}
    traces = perf_records.traces(window.data, begins, len(window.data))
    lost = sum(loss.records for loss in traces.losses)
    unseen = max(0, window.counted - len(traces.samples) - lost)
    found.lost += lost + unseen
    found.unseen += unseen
    found.throttled += traces.throttled
    found.faults += len(traces.faults)
    found.names |= traces.names
    _note_gaps(gaps, window, traces, to_the_end=bool(unseen or traces.faults))
    for sample in traces.samples:
        kind = window.ids.get(sample.id)
        row = None if kind is None or not _can_be(sample, window) else _row(kind, sample, formats[kind], found.chains)
        if row is None:
            found.faults += 1
        else:
            found.rows.append(row)


def _can_be(sample: Traced, window: Window) -> bool:
    """Whether a record is of its ring: one that was half written when it was read may tell any CPU and any time."""
    within = window.began_ns - SLACK_NS <= sample.time_ns <= window.ended_ns + SLACK_NS
    return sample.cpu == window.cpu and within


def _row(kind: str, sample: Traced, form: Format, chains: dict[bytes, int]) -> Row | None:
    """An event; None where its data is shorter than its format says."""
    address = flags = irq = device = stack = None
    raw = sample.raw
    if kind in (BEGIN, END):
        address = _number(form, raw, "lock_addr")
        if address is None:
            return None
        if kind == BEGIN:
            flags = _number(form, raw, "flags")
            stack = chains.setdefault(sample.frames, len(chains)) if sample.frames else None
    elif kind == "net_dev_start_xmit":
        device = _printable(perf_records.string(raw, form.fields["name"].offset))
        if device is None:
            return None
    else:
        irq = _number(form, raw, "irq")
        if irq is None or irq < 0:
            return None
    return [kind, sample.time_ns, sample.cpu, sample.tid, address, flags, irq, device, stack]


def _number(form: Format, raw: bytes, name: str) -> int | None:
    field = form.fields[name]
    return perf_records.number(raw, field.offset, field.size, signed=field.signed)


def _printable(name: str | None) -> str | None:
    """A name that somebody gave, escaped; None where there is none."""
    if not name or len(name) > MOST_NAME:
        return None
    return name if name.isprintable() else ascii(name)[1:-1]


def _gaps_between(windows: Iterable[Window]) -> _Gaps:
    gaps, ended = _Gaps(), dict[int, int]()
    for window in windows:
        if window.cpu in ended:
            gaps.add(window.cpu, ended[window.cpu], window.began_ns)
        ended[window.cpu] = window.ended_ns
    return gaps


def _note_gaps(gaps: _Gaps, window: Window, traces: Traces, *, to_the_end: bool) -> None:
    """A loss lies between the last sample before it and the record that tells it."""
    times = [sample.time_ns for sample in traces.samples]
    losses = [*traces.losses, Loss(window.ended_ns, 0)] if to_the_end else traces.losses
    for loss in losses:
        before = bisect_left(times, loss.time_ns)
        gaps.add(window.cpu, times[before - 1] if before else window.began_ns, loss.time_ns)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for began, ended in sorted(spans):
        if merged and began <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], ended))
        else:
            merged.append((began, ended))
    return merged


def _timed(found: _Found, gaps: _Gaps) -> list[Row]:
    """The rows without those ends of which the begin may be another's: events are missing between the two."""
    begun: dict[tuple[int, int], Row] = {}
    rows: list[Row] = []
    for row in found.rows:
        if row[_KIND] == BEGIN:
            begun.setdefault((row[_TID], row[_ADDRESS]), row)
        elif row[_KIND] == END:
            begin = begun.pop((row[_TID], row[_ADDRESS]), None)
            if begin is not None and gaps.within(_cpu_of(begin, row), begin[_TIME], row[_TIME]):
                found.dropped_ends += 1
                continue
        rows.append(row)
    return rows


def _cpu_of(begin: Row, end: Row) -> int | None:
    """The CPU on which all of a wait happened; None where it may have moved meanwhile."""
    stays = (begin[_FLAGS] or 0) & (_SPIN | _MUTEX) == _SPIN and begin[_CPU] == end[_CPU]
    cpu: int = begin[_CPU]
    return cpu if stays else None


def _next_to_waits(rows: Sequence[Row]) -> list[Row]:
    """Without interrupts and packets that are not the last of their kind before a wait, or the first after one."""
    last: dict[tuple[int, str], int] = {}
    open_until: set[tuple[int, str]] = set()
    keep = bytearray(len(rows))
    for place, row in enumerate(rows):
        key = (row[_CPU], row[_KIND])
        if row[_KIND] in AROUND:
            last[key] = place
            if key in open_until:
                open_until.discard(key)
                keep[place] = 1
            continue
        keep[place] = 1
        if row[_KIND] == BEGIN:
            for kind in AROUND:
                key = (row[_CPU], kind)
                open_until.add(key)
                if key in last:
                    keep[last.pop(key)] = 1
    return [row for row, kept in zip(rows, keep, strict=True) if kept]


def _stacks(chains: Mapping[bytes, int], limits: list[str]) -> list[list[Row]]:
    """The stacks by their index; symbols are loaded only where there is something to name."""
    symbols: Symbols | None = None
    if chains:
        try:
            symbols = kallsyms.load()
        except SourceError as error:
            limits.append(f"no function has a name: {error}" + (f" ({error.remedy})" if error.remedy else ""))
    known: dict[int, Row] = {}
    return [[_frame(address, symbols, known) for address in perf_records.addresses(chain)] for chain in chains]


def _frame(address: int, symbols: Symbols | None, known: dict[int, Row]) -> Row:
    if address not in known:
        named = None if symbols is None else symbols.resolve(address)
        known[address] = [None, None, None] if named is None else list(named)
    return known[address]


def _tasks(rows: Iterable[Row], told: Mapping[int, str]) -> dict[str, str]:
    """Names of the tasks that waited, as they are now or as they were told meanwhile."""
    waiting = dict.fromkeys(row[_TID] for row in rows if row[_KIND] == BEGIN)
    names: dict[str, str] = {}
    for tid in list(waiting)[:MOST_TASKS]:
        name = _printable(IDLE if tid == 0 else OURS if _is_ours(tid) else _comm(tid) or told.get(tid))
        if name is not None:
            names[str(tid)] = name
    return names


def _is_ours(tid: int) -> bool:
    return os.path.exists(f"/proc/self/task/{tid}")


def _comm(tid: int) -> str | None:
    try:
        with open(f"/proc/{tid}/comm", encoding="utf-8", errors="backslashreplace") as file:
            return file.read(64).rstrip("\n")
    except OSError:
        return None  # it has ended


def _limits(found: _Found) -> list[str]:
    limits = []
    if found.faults:
        limits.append(f"{found.faults} records were not as their format says, and are left out")
    if found.unseen:
        limits.append(f"{found.unseen} events were counted and not recorded: interrupts beside a wait may be missing")
    if found.dropped_ends:
        limits.append(f"{found.dropped_ends} waits are not timed: events between their begin and their end are missing")
    return limits


def _time(row: Row) -> int:
    time_ns: int = row[_TIME]
    return time_ns

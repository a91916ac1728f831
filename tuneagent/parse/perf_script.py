"""The text of ``perf script`` as a profile and as a record of waits (tools/perf/builtin-script.c)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tuneagent.model.contention import Frame, LockEvent, LockRecord, Stack
from tuneagent.model.errors import ParseError
from tuneagent.model.profile import Profile, SymbolSamples
from tuneagent.parse.lines import empty, require_printable, shown
from tuneagent.parse.perf_names import UNKNOWN, Place, event_name, is_idle, is_profile_event, require_bounded
from tuneagent.parse.perf_script_lines import EventLine, FrameLine, event_line, frame_line
from tuneagent.parse.perf_script_locks import KINDS, lock_event

MAX_EVENTS = 1_000_000
"""Events of one text that are looked at, those of other kinds included."""
MAX_DEPTH = 127
"""kernel.perf_event_max_stack, as it is unless changed."""
MAX_LINES = 8_000_000
MAX_FOREIGN = 10_000
"""Lines not understood before the rest is left alone."""
_MAX_NAMED = 8
_LOST = "PERF_RECORD_LOST"

_Place = tuple[str, str | None]
_Hits = Counter[int | None]


@dataclass(frozen=True, slots=True)
class PerfScript:
    """What a text of ``perf script`` holds of what is looked for."""

    profile: Profile | None
    """None where it has no samples of cycles or of a CPU clock."""
    locks: LockRecord | None
    """None where it has no lock event."""
    fault: ParseError | None
    """The first line that was not understood, or the end that was cut off; what was whole is kept."""


@dataclass(slots=True)
class _Event:
    line: EventLine
    number: int
    """Of its first line."""
    frames: list[FrameLine] = field(default_factory=list)


@dataclass(slots=True)
class _Gathered:
    """What the events seen so far add up to."""

    hits: dict[_Place, _Hits] = field(default_factory=dict)
    idle: dict[_Place, _Hits] = field(default_factory=dict)
    """The idle task's, where it waits."""
    cpus: set[int | None] = field(default_factory=set)
    samples: int = 0
    user: int = 0
    placeless: int = 0
    profiled: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    times: list[int] = field(default_factory=list)
    """First and last of the samples."""
    locks: list[LockEvent] = field(default_factory=list)
    stacks: dict[Stack, int] = field(default_factory=dict)
    tasks: dict[int, str] = field(default_factory=dict)
    lost: int = 0
    events: int = 0
    foreign: int = 0
    truncated: bool = False
    fault: ParseError | None = None


def parse(text: str) -> PerfScript:
    """Samples of cycles and CPU clocks by their innermost function, and lock events with the kernel's stacks.

    Other events are passed over. ParseError with the line for a text without any event, or without any that counts;
    EMPTY for nothing. A later line that is not understood is a fault beside what was whole.
    """
    require_bounded(text)
    gathered = _Gathered()
    first = None
    for found in _events(text):
        if isinstance(found, ParseError):
            gathered.foreign += 1
            gathered.fault = gathered.fault or found
        else:
            _keep(gathered, found)
        first = first or (found.line if isinstance(found, ParseError) else found.number)
        if gathered.events >= MAX_EVENTS or gathered.foreign >= MAX_FOREIGN:
            gathered.truncated = True
            break
    if first is None:
        raise empty()
    return _finished(gathered, first)


def _events(text: str) -> Iterator[_Event | ParseError]:
    """Whole events, and an error for each line that belongs to none and for an event that the end cuts off."""
    event: _Event | None = None
    number = 0
    for number, line in _lines(text):
        read = _read(line, inside=event is not None)
        if isinstance(read, FrameLine) and event:
            event.frames[len(event.frames) :] = [read] if len(event.frames) < MAX_DEPTH else []
        elif isinstance(read, EventLine) or not line or line.isspace():
            if event:
                yield event
            event = _Event(read, number) if isinstance(read, EventLine) else None
        elif not (line.startswith("#") or (event and line[0].isspace())):
            # Frames may be followed by their place in the source: indented, and no frames.
            yield ParseError(f"nothing that perf script prints: {shown(line)}", number)
    if event:
        yield event if text.endswith("\n") else ParseError("an event that is cut off at the end", number)


def _read(line: str, *, inside: bool) -> EventLine | FrameLine | None:
    # Frames begin with a tab, or with blanks where somebody has copied them; so do events, whose names are aligned.
    frame = frame_line(line) if inside and line.startswith("\t") else None
    return frame or event_line(line) or (frame_line(line) if inside else None)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without a second copy of all of the text."""
    start, number, end = 0, 0, len(text)
    while start < end:
        stop = text.find("\n", start)
        stop = end if stop < 0 else stop
        number += 1
        if number > MAX_LINES:
            return
        yield number, text[start:stop]
        start = stop + 1


def _keep(gathered: _Gathered, event: _Event) -> None:
    name = event_name(event.line.event)
    gathered.events += 1
    try:
        require_printable(event.line.comm, event.number)
        if is_profile_event(name):
            _keep_sample(gathered, event, name)
        elif name in KINDS:
            _keep_lock(gathered, event)
        elif name.startswith(_LOST):
            gathered.lost += _lost(event.line.payload)
        elif len(gathered.others) < _MAX_NAMED or name in gathered.others:
            gathered.others[name] += 1
    except ParseError as error:
        gathered.fault = gathered.fault or error


def _lost(payload: str) -> int:
    word = payload.rpartition(" ")[2]
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 18 else 0  # noqa: PLR2004  # far below 64 bits


def _keep_sample(gathered: _Gathered, event: _Event, name: str) -> None:
    leaf = next((frame for frame in event.frames if not frame.inlined), None) or frame_line(event.line.payload)
    symbol = (leaf and leaf.frame.symbol) or UNKNOWN
    require_printable(symbol, event.number)
    gathered.samples += 1
    gathered.profiled[name] += 1
    gathered.cpus.add(event.line.cpu)
    if event.line.time_ns is not None:
        known = [*gathered.times, event.line.time_ns]
        gathered.times = [min(known), max(known)]
    if leaf is None:
        gathered.placeless += 1
    elif leaf.place is not Place.KERNEL:
        gathered.user += 1
    else:
        hits = gathered.idle if event.line.tid == 0 and is_idle(symbol) else gathered.hits
        hits.setdefault((symbol, leaf.frame.module), Counter())[event.line.cpu] += 1


def _keep_lock(gathered: _Gathered, event: _Event) -> None:
    stack = _kernel_stack(event.frames)
    index = gathered.stacks.get(stack, len(gathered.stacks)) if stack else None
    gathered.locks.append(lock_event(event.line, index, event.number))
    if index is not None:
        gathered.stacks.setdefault(stack, index)
    gathered.tasks.setdefault(event.line.tid, event.line.comm)


def _kernel_stack(frames: list[FrameLine]) -> Stack:
    """The kernel's part, as a record taken here has it: without what the compiler put in line."""
    stack: list[Frame] = []
    for each in frames:
        if each.place is not Place.KERNEL:
            break
        if not each.inlined:
            stack.append(each.frame)
    return tuple(stack)


def _finished(gathered: _Gathered, line: int) -> PerfScript:
    if gathered.samples == gathered.placeless and gathered.samples and not gathered.locks:
        raise ParseError("samples without their function (fields ip and sym)", line)
    profile = _profile(gathered) if gathered.samples else None
    locks = _locks(gathered) if gathered.locks else None
    if profile is None and locks is None:
        if gathered.fault:
            raise gathered.fault
        seen = ", ".join(shown(name) for name in gathered.others)
        raise ParseError(f"no samples of cycles or a CPU clock and no lock events, only {seen or 'lost ones'}", line)
    return PerfScript(profile, locks, gathered.fault)


def _profile(gathered: _Gathered) -> Profile:
    by_cpu = None not in gathered.cpus
    kernel = [SymbolSamples(symbol, module, _known(hits)) for (symbol, module), hits in gathered.hits.items()]
    shares: Counter[str] = Counter()
    for (symbol, _), hits in gathered.hits.items():
        shares[symbol] += hits.total()
    idle = sum(hits.total() for hits in gathered.idle.values())
    # Of the busy samples, as of a profile taken here: an idle machine has the same shares.
    busy = gathered.samples - idle
    times = gathered.times
    return Profile(
        origin="perf script",
        event=" and ".join(name for name, _ in gathered.profiled.most_common()),
        seconds=(times[1] - times[0]) / 1e9 if times and times[1] > times[0] else None,
        cpus=tuple(sorted(cpu for cpu in gathered.cpus if cpu is not None)),
        kernel=tuple(sorted(kernel, key=lambda each: (-each.samples, each.symbol))) if by_cpu else (),
        user_samples=gathered.user,
        idle_samples=idle,
        lost=gathered.lost,
        throttled=0,
        shares_percent={symbol: 100 * hits / busy for symbol, hits in shares.most_common()},
        limits=_limits(gathered, by_cpu=by_cpu),
    )


def _known(hits: _Hits) -> dict[int, int]:
    return {cpu: count for cpu, count in sorted(hits.items(), key=lambda item: item[0] or 0) if cpu is not None}


def _locks(gathered: _Gathered) -> LockRecord:
    events = sorted(gathered.locks, key=lambda event: event.time_ns)
    limits = (*_limits(gathered, by_cpu=True), "an imported text: what recording it cost is not in it")
    return LockRecord(
        seconds=(events[-1].time_ns - events[0].time_ns) / 1e9,
        events=tuple(events),
        stacks=tuple(gathered.stacks),
        tasks=gathered.tasks,
        lost=gathered.lost,
        throttled=0,
        truncated=gathered.truncated,
        cpu_s=0.0,
        limits=limits,
        read_at_ns=None,
    )


def _limits(gathered: _Gathered, *, by_cpu: bool) -> tuple[str, ...]:
    limits = ["perf script tells nothing of throttling, and of lost events only with --show-lost-events"]
    if not by_cpu:
        limits.append("the text has no CPUs (field cpu): samples are not told apart by CPU")
    if gathered.placeless:
        limits.append(f"{gathered.placeless} of {gathered.samples} samples have no function")
    if gathered.truncated:
        limits.append(f"only the first {gathered.events} events were read")
    return tuple(limits)

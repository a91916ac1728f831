"""The captured source ``lock-record``: waits for locks as the kernel told them over some seconds, with their stacks.

``{"seconds": 2.0, "events": [[kind, time_ns, cpu, tid, address, flags, irq, device, stack], …],
"stacks": [[["symbol", "module", 16], …], …], "tasks": {"101": "server"}, "lost": 0, "throttled": 0,
"truncated": false, "cpu_s": 0.013, "limits": ["…"], "watched_s": 0.2}``; null stands for what an event does not have,
and for a time that was watched as a whole.
"""

from __future__ import annotations

from typing import Any

from tuneagent.model.contention import Frame, LockEvent, LockRecord, Stack
from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.model.errors import ParseError
from tuneagent.parse import lines
from tuneagent.parse.json_values import array, boolean, mapping, member, natural, record, string
from tuneagent.parse.lines import U32_MAX as U32
from tuneagent.parse.lines import shown

MAX_EVENTS = 1 << 18
"""Five times what a record is made to hold."""
MAX_FRAMES = 1 << 20
"""Of all stacks together."""
MAX_DEPTH = 256
"""Of one stack; kernel.perf_event_max_stack is 127 by default."""
MAX_TASKS = 1 << 16
MAX_LIMITS = 64
MAX_SECONDS = 3_600
MAX_NAME = 512
"""KSYM_NAME_LEN of include/linux/kallsyms.h, the longest of the names."""

_FIELDS = 9
_KINDS = ("contention_begin", "contention_end", "irq_handler_entry", "irq_handler_exit", "net_dev_start_xmit")


def parse(value: Any) -> LockRecord:
    """The record, without the time of its read. ParseError with the path of the first value that is not as described.

    What an event of its kind does not have is None, whatever stands there.
    """
    fields = record(value, "$")
    names = _Names()
    stacks = _stacks(fields.get("stacks"), names)
    return LockRecord(
        seconds=_seconds(fields.get("seconds"), "$.seconds"),
        events=_events(fields.get("events"), len(stacks), names),
        stacks=stacks,
        tasks=_tasks(fields.get("tasks"), names),
        lost=natural(fields.get("lost"), "$.lost"),
        throttled=natural(fields.get("throttled"), "$.throttled"),
        truncated=boolean(fields.get("truncated"), "$.truncated"),
        cpu_s=_seconds(fields.get("cpu_s"), "$.cpu_s"),
        limits=tuple(
            string(limit, f"$.limits[{place}]")
            for place, limit in enumerate(array(fields.get("limits"), "$.limits", MAX_LIMITS))
        ),
        read_at_ns=None,
        watched_s=None if fields.get("watched_s") is None else _seconds(fields["watched_s"], "$.watched_s"),
    )


class _Names:
    """Strings that were looked at: of a hundred thousand names few are different."""

    def __init__(self) -> None:
        self._good: set[str] = set()

    def checked(self, value: Any, where: str) -> str:
        """A printable name of at most MAX_NAME characters."""
        if isinstance(value, str) and value in self._good:
            return value
        name = string(value, where)
        if len(name) > MAX_NAME:
            raise ParseError(f"{where}: a name of more than {MAX_NAME} characters")
        self._good.add(name)
        return name


def _stacks(value: Any, names: _Names) -> tuple[Stack, ...]:
    stacks: list[Stack] = []
    frames = 0
    for place, told in enumerate(array(value, "$.stacks")):
        where = f"$.stacks[{place}]"
        found = array(told, where, MAX_DEPTH)
        frames += len(found)
        if frames > MAX_FRAMES:
            raise ParseError(f"{where}: more than {MAX_FRAMES} frames in all")
        stacks.append(tuple(_frame(frame, f"{where}[{depth}]", names) for depth, frame in enumerate(found)))
    return tuple(stacks)


def _frame(value: Any, where: str, names: _Names) -> Frame:
    match value:
        case [symbol, module, offset]:
            return Frame(
                None if symbol is None else names.checked(symbol, f"{where}[0]"),
                None if module is None else names.checked(module, f"{where}[1]"),
                None if offset is None else natural(offset, f"{where}[2]"),
            )
    raise ParseError(f"{where}: not [symbol, module, offset]")


def _events(value: Any, stacks: int, names: _Names) -> tuple[LockEvent, ...]:
    events: list[LockEvent] = []
    for event in array(value, "$.events", MAX_EVENTS):
        try:
            events.append(_event(event, stacks, names))
        except ParseError as error:  # so that no path is spelt for the ten thousands that are right
            raise ParseError(f"$.events[{len(events)}]{error.detail}") from None
    return tuple(events)


def _event(value: Any, stacks: int, names: _Names) -> LockEvent:
    """An event; ParseError with the path within it."""
    if not isinstance(value, list) or len(value) != _FIELDS:
        raise ParseError(f": not an array of {_FIELDS}")
    kind = value[0]
    if kind not in _KINDS:
        raise ParseError(f"[0]: {shown(kind) if isinstance(kind, str) else 'this'} is no kind of event")
    time_ns, cpu, tid = natural(value[1], "[1]"), natural(value[2], "[2]", MAX_CPUS - 1), natural(value[3], "[3]", U32)
    address = flags = irq = device = stack = None
    if kind.startswith("contention"):
        address = natural(value[4], "[4]")
        if kind == "contention_begin":
            flags = None if value[5] is None else natural(value[5], "[5]", U32)
            stack = None if value[8] is None else natural(value[8], "[8]", stacks - 1)
    elif kind.startswith("irq"):
        irq = natural(value[6], "[6]", U32)
    else:
        device = names.checked(value[7], "[7]")
    return LockEvent(kind, time_ns, cpu, tid, address, flags, irq, device, stack)


def _tasks(value: Any, names: _Names) -> dict[int, str]:
    tasks: dict[int, str] = {}
    for key, name in mapping(value, "$.tasks", MAX_TASKS).items():
        where = member("$.tasks", key)
        try:
            tid = lines.natural(key, None, U32)
        except ParseError as error:
            raise ParseError(f"{where}: {error.detail}") from None
        tasks[tid] = names.checked(name, where)
    return tasks


def _seconds(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParseError(f"{where}: not a number")
    # Compared before it is made a float: a whole number may be larger than any.
    if not 0 <= value <= MAX_SECONDS:
        raise ParseError(f"{where}: not within 0 to {MAX_SECONDS} seconds")
    return float(value)

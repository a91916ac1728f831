"""Tracepoints of ``perf script`` that tell of waits (include/trace/events/lock.h, irq.h, net.h)."""

from __future__ import annotations

from tuneagent.model.contention import LockEvent
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import U64_MAX, natural, shown
from tuneagent.parse.perf_names import address_of
from tuneagent.parse.perf_script_lines import EventLine

KINDS = {
    "lock:contention_begin": "contention_begin",
    "lock:contention_end": "contention_end",
    "irq:irq_handler_entry": "irq_handler_entry",
    "irq:irq_handler_exit": "irq_handler_exit",
    "net:net_dev_start_xmit": "net_dev_start_xmit",
}
"""Event as perf prints it → kind of ``LockEvent``."""
_FLAGS = {"SPIN": 1, "READ": 2, "WRITE": 4, "RT": 8, "PERCPU": 16, "MUTEX": 32}
_U32_MAX = 2**32 - 1
_MAX_DEVICE = 64


def lock_event(line: EventLine, stack: int | None, number: int) -> LockEvent:
    """The event; ParseError where its payload is not the tracepoint's or where the CPU or the time was not printed."""
    kind = KINDS[line.event]
    if line.cpu is None or line.time_ns is None:
        raise ParseError(f"{kind} without its CPU or time (fields cpu and time)", number)
    if line.time_ns > U64_MAX:
        raise ParseError(f"{kind} at a time of more than 64 bits", number)
    fields = dict(word.partition("=")[::2] for word in line.payload.replace("(", " ").replace(")", " ").split())
    address = flags = irq = device = None
    if kind.startswith("contention"):
        address = _address(line.payload, number)
        flags = _flags(fields.get("flags"), number) if kind == "contention_begin" else None
    elif kind.startswith("irq"):
        irq = natural(fields.get("irq", ""), number, _U32_MAX)
    else:
        device = _device(fields.get("dev", ""), number)
    return LockEvent(kind, line.time_ns, line.cpu, line.tid, address, flags, irq, device, stack)


def _address(payload: str, number: int) -> int:
    """``0xffff8881003c366c (flags=SPIN)``; ``lock_addr=…`` where perf does not know the event's own format."""
    word = payload.partition(" ")[0].removeprefix("lock_addr=")
    address = address_of(word)
    if address is None:
        raise ParseError(f"{shown(word)} is no address of a lock", number)
    return address


def _flags(printed: str | None, number: int) -> int:
    """``SPIN|READ``, bits without a name in hexadecimal; nothing for a semaphore."""
    if printed is None:
        raise ParseError("contention_begin without flags", number)
    flags = 0
    for word in printed.split("|") if printed else ():
        known = _FLAGS.get(word)
        bits = known if known is not None else address_of(word) if word.startswith("0x") else _decimal(word)
        if bits is None or bits > _U32_MAX:
            raise ParseError(f"{shown(word)} is no flag of contention_begin", number)
        flags |= bits
    return flags


def _decimal(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 10 else None  # noqa: PLR2004  # 32 bits


def _device(name: str, number: int) -> str:
    if not 0 < len(name) <= _MAX_DEVICE or not name.isprintable():
        raise ParseError("net_dev_start_xmit without its device", number)
    return name

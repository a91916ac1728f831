"""Records of a perf ring: include/uapi/linux/perf_event.h, enum perf_event_type; in the byte order of the machine.

What is asked for is one of two sorts of sample: of tracepoints (PERF_SAMPLE_IDENTIFIER, TID, TIME, CPU, with or without
CALLCHAIN, RAW) and of the CPU (IP, TID, CPU). Records of other types are skipped by their size.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tuneagent.model.errors import ParseError

LOST, COMM, THROTTLE, SAMPLE = 2, 3, 5, 9
CPUMODE_MASK, CPUMODE_KERNEL = 7, 1
CONTEXT_MAX = 2**64 - 4095
"""Entries of a callchain from here up say whose frames follow (enum perf_callchain_context)."""
MAX_FRAMES = 256
MAX_COMM = 16

_HEADER = struct.Struct("=IHH")
_TRACED = struct.Struct("=QIIQII")  # identifier, pid, tid, time, cpu, reserved
_CPU = struct.Struct("=QIIII")  # ip, pid, tid, cpu, reserved
_TRAILER = struct.Struct("=IIQIIQ")  # pid, tid, time, cpu, reserved, identifier
_U64 = struct.Struct("=Q")
_U32 = struct.Struct("=I")
_TWO_U64 = struct.Struct("=QQ")
_TWO_U32 = struct.Struct("=II")
_BYTE_ORDER: Literal["little", "big"] = sys.byteorder


class Traced(NamedTuple):
    """A tracepoint's sample."""

    id: int
    """Of the event, as the kernel numbers them."""
    tid: int
    time_ns: int
    cpu: int
    frames: bytes
    """Kernel addresses of eight bytes each, innermost first."""
    raw: bytes


class CpuSample(NamedTuple):
    """Where a CPU was."""

    address: int
    tid: int
    cpu: int
    kernel: bool


class Loss(NamedTuple):
    """Records that found no room."""

    time_ns: int
    """Of the next record that found some."""
    records: int


@dataclass(slots=True)
class Traces:
    """What a ring of tracepoints holds."""

    samples: list[Traced] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    """Names that tasks took meanwhile, by thread id."""
    throttled: int = 0
    faults: list[ParseError] = field(default_factory=list)
    """At most one: what follows it was not looked at."""


@dataclass(slots=True)
class CpuSamples:
    """What a ring of CPU samples holds."""

    samples: list[CpuSample] = field(default_factory=list)
    lost: int = 0
    throttled: int = 0
    faults: list[ParseError] = field(default_factory=list)


def traces(data: bytes, with_frames: Collection[int], limit: int) -> Traces:
    """The records in ``data``; samples of the events ``with_frames`` hold a callchain. Of samples at most ``limit``.

    Stops at a record that cannot be: its fault is noted, what came before stands.
    """
    found = Traces()
    try:
        for kind, _, start, end in _records(data):
            if kind == SAMPLE:
                if len(found.samples) == limit:
                    break
                found.samples.append(_traced(data, start, end, with_frames))
            elif kind == LOST:
                records = _at(_TWO_U64, data, start, end)[1]
                found.losses.append(Loss(_trailer_time(data, start, end), records))
            elif kind == COMM:
                _name(found.names, data, start, end)
            elif kind == THROTTLE:
                found.throttled += 1
    except ParseError as error:
        found.faults.append(error)
    return found


def cpu_samples(data: bytes) -> CpuSamples:
    """The records in ``data``. Stops at a record that cannot be, as traces() does."""
    found = CpuSamples()
    try:
        for kind, misc, start, end in _records(data):
            if kind == SAMPLE:
                address, _, tid, cpu, _ = _at(_CPU, data, start, end)
                found.samples.append(CpuSample(address, tid, cpu, misc & CPUMODE_MASK == CPUMODE_KERNEL))
            elif kind == LOST:
                found.lost += _at(_TWO_U64, data, start, end)[1]
            elif kind == THROTTLE:
                found.throttled += 1
    except ParseError as error:
        found.faults.append(error)
    return found


def addresses(frames: bytes) -> tuple[int, ...]:
    """The addresses of a sample's frames, without the marks of whose they are."""
    return tuple(value for (value,) in _U64.iter_unpack(frames) if value < CONTEXT_MAX)


def string(raw: bytes, offset: int) -> str | None:
    """The string whose place a ``__data_loc`` field at ``offset`` tells; None where it lies outside of the data."""
    place = number(raw, offset, _U32.size, signed=False)
    if place is None:
        return None
    start, length = place & 0xFFFF, place >> 16
    if start + length > len(raw):
        return None
    return raw[start : start + length].partition(b"\0")[0].decode("utf-8", "backslashreplace")


def number(raw: bytes, offset: int, size: int, *, signed: bool) -> int | None:
    """The number of a field; None where it lies outside of the data."""
    if offset + size > len(raw):
        return None
    return int.from_bytes(raw[offset : offset + size], _BYTE_ORDER, signed=signed)


def _records(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(type, misc, start and end of the body) of each record; ParseError at one that is cut off or has no size."""
    at = 0
    while at < len(data):
        if len(data) - at < _HEADER.size:
            raise ParseError(f"byte {at}: the header of a record is cut off")
        kind, misc, size = _HEADER.unpack_from(data, at)
        if not _HEADER.size <= size <= len(data) - at:
            raise ParseError(f"byte {at}: a record of {size} bytes where {len(data) - at} are left")
        yield kind, misc, at + _HEADER.size, at + size
        at += size


def _traced(data: bytes, start: int, end: int, with_frames: Collection[int]) -> Traced:
    event, _, tid, time_ns, cpu, _ = _at(_TRACED, data, start, end)
    start += _TRACED.size
    frames = b""
    if event in with_frames:
        (count,) = _at(_U64, data, start, end)
        start += _U64.size
        if count > MAX_FRAMES or start + count * _U64.size > end:
            raise ParseError(f"byte {start}: a callchain of {count} entries where {end - start} bytes are left")
        frames = data[start : start + count * _U64.size]
        start += len(frames)
    (size,) = _at(_U32, data, start, end)
    start += _U32.size
    if start + size > end:
        raise ParseError(f"byte {start}: raw data of {size} bytes where {end - start} are left")
    return Traced(event, tid, time_ns, cpu, frames, data[start : start + size])


def _name(names: dict[int, str], data: bytes, start: int, end: int) -> None:
    _, tid = _at(_TWO_U32, data, start, end)
    comm = data[start + _TWO_U32.size : end].partition(b"\0")[0][:MAX_COMM]
    names[tid] = comm.decode("utf-8", "backslashreplace")


def _trailer_time(data: bytes, start: int, end: int) -> int:
    """The time at the end of a record that is no sample (sample_id_all)."""
    time_ns: int = _at(_TRAILER, data, max(start, end - _TRAILER.size), end)[2]
    return time_ns


def _at(form: struct.Struct, data: bytes, start: int, end: int) -> tuple[int, ...]:
    if start + form.size > end:
        raise ParseError(f"byte {start}: {form.size} bytes of a record are expected where {end - start} are left")
    return form.unpack_from(data, start)

"""Records of a perf ring, put together by hand."""

from __future__ import annotations

import struct


def record(kind: int, body: bytes, misc: int = 0) -> bytes:
    body += bytes(-len(body) % 8)
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def traced(event: int, tid: int, time_ns: int, cpu: int, raw: bytes, frames: tuple[int, ...] | None = None) -> bytes:
    body = struct.pack("=QIIQII", event, 7000 + tid, tid, time_ns, cpu, 0)
    if frames is not None:
        body += struct.pack(f"=Q{len(frames)}Q", len(frames), *frames)
    # The kernel pads the raw data, so that the record ends at eight bytes, and counts the padding.
    raw += bytes(-(len(raw) + 4) % 8)
    return record(9, body + struct.pack("=I", len(raw)) + raw)


def trailer(tid: int, time_ns: int, cpu: int, event: int) -> bytes:
    return struct.pack("=IIQIIQ", 7000 + tid, tid, time_ns, cpu, 0, event)


def lost(event: int, count: int, tid: int, time_ns: int, cpu: int) -> bytes:
    return record(2, struct.pack("=QQ", event, count) + trailer(tid, time_ns, cpu, event))


def comm(tid: int, name: bytes, time_ns: int, cpu: int, event: int) -> bytes:
    body = struct.pack("=II", 7000 + tid, tid) + name + bytes(8 - len(name) % 8)
    return record(3, body + trailer(tid, time_ns, cpu, event))


def throttled(event: int, tid: int, time_ns: int, cpu: int) -> bytes:
    return record(5, struct.pack("=QQQ", time_ns, event, event) + trailer(tid, time_ns, cpu, event))


def cpu_sample(address: int, tid: int, cpu: int, misc: int = 1) -> bytes:
    return record(9, struct.pack("=QIIII", address, 7000 + tid, tid, cpu, 0), misc)

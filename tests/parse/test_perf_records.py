"""Records put together by hand, whole and spoilt."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parse.perf_bytes import comm, cpu_sample, lost, record, throttled, traced
from tuneagent.model.errors import ParseError
from tuneagent.parse.perf_records import (
    CpuSample,
    Loss,
    Traced,
    addresses,
    cpu_samples,
    number,
    string,
    traces,
)

KERNEL = 2**64 - 128  # PERF_CONTEXT_KERNEL
FIRST, SECOND = 0xFFFFFFFF81000010, 0xFFFFFFFF81200020
DATA = b"".join(
    [
        traced(31, 102, 5000, 3, b"abcd" * 5, (KERNEL, FIRST, SECOND)),
        record(99, b"of a kernel to come"),
        traced(32, 103, 5001, 4, b"xyz"),
        lost(31, 17, 104, 5002, 5),
        comm(105, b"client", 5003, 6, 31),
        throttled(31, 106, 5004, 7),
        record(6, bytes(24)),
    ]
)


def test_samples_of_tracepoints() -> None:
    found = traces(DATA, {31}, 10)
    first, second = found.samples
    assert first[:4] == (31, 102, 5000, 3)
    assert addresses(first.frames) == (FIRST, SECOND)
    assert first.raw == b"abcd" * 5
    assert second == Traced(32, 103, 5001, 4, b"", b"xyz\0")
    assert found.losses == [Loss(5002, 17)]
    assert found.names == {105: "client"}
    assert found.throttled == 1
    assert found.faults == []


def test_no_more_samples_than_are_wanted() -> None:
    assert [one.time_ns for one in traces(DATA, {31}, 1).samples] == [5000]


def test_samples_of_cpus() -> None:
    data = [cpu_sample(FIRST, 0, 3), cpu_sample(4096, 9, 4, misc=2), cpu_sample(SECOND, 8, 5, misc=1 | 1 << 14)]
    found = cpu_samples(b"".join([*data, record(2, struct.pack("=QQ", 5, 23)), record(5, bytes(24))]))
    assert found.samples == [
        CpuSample(FIRST, 0, 3, kernel=True),
        CpuSample(4096, 9, 4, kernel=False),
        CpuSample(SECOND, 8, 5, kernel=True),
    ]
    assert (found.lost, found.throttled, found.faults) == (23, 1, [])


@pytest.mark.parametrize(
    ("spoilt", "words"),
    [
        (b"\x09\0\0\0\0\0", "byte 128: the header of a record is cut off"),
        (struct.pack("=IHH", 9, 0, 0), "byte 128: a record of 0 bytes where 8 are left"),
        (struct.pack("=IHH", 9, 0, 64) + bytes(8), "byte 128: a record of 64 bytes where 16 are left"),
        (record(9, bytes(16)), "byte 136: 32 bytes of a record are expected where 16 are left"),
        (record(9, struct.pack("=QIIQIIQ", 31, 1, 2, 3, 4, 0, 2**60)), "a callchain of 1152921504606846976 entries"),
        (record(9, struct.pack("=QIIQIII", 32, 1, 2, 3, 4, 0, 1000)), "raw data of 1000 bytes where 4 are left"),
        (record(2, bytes(16)), "byte 136: 32 bytes of a record are expected where 16 are left"),
        (record(3, bytes(0)), "8 bytes of a record are expected where 0 are left"),
    ],
)
def test_what_comes_before_a_fault_stands(spoilt: bytes, words: str) -> None:
    good = traced(31, 102, 5000, 3, b"abcd" * 5, (KERNEL, FIRST, SECOND))
    good += record(77, bytes(128 - len(good) - 8))
    found = traces(good + spoilt, {31}, 10)
    assert [one.tid for one in found.samples] == [102]
    (fault,) = found.faults
    assert words in str(fault)


@given(st.binary(max_size=400))
def test_any_bytes_at_all(data: bytes) -> None:
    for found in (traces(data, {0, 31}, 10), cpu_samples(data)):
        assert all(isinstance(fault, ParseError) for fault in found.faults)


@given(st.integers(0, len(DATA)), st.integers(0, 255))
def test_one_byte_that_is_wrong(place: int, value: int) -> None:
    spoilt = bytearray(DATA)
    spoilt[place : place + 1] = bytes([value])
    found = traces(bytes(spoilt), {31}, 10)
    assert len(found.samples) <= 10
    assert all(value < 2**64 - 4095 for one in found.samples for value in addresses(one.frames))


def test_numbers_of_raw_data() -> None:
    raw = struct.pack("=Ii", 7, -5)
    assert number(raw, 0, 4, signed=False) == 7
    assert number(raw, 4, 4, signed=True) == -5
    assert number(raw, 6, 4, signed=False) is None


def test_strings_of_raw_data() -> None:
    raw = struct.pack("=II", 0, 5 << 16 | 8) + b"eth0\0\xff"
    assert string(raw, 4) == "eth0"
    assert string(struct.pack("=I", 2 << 16 | 4) + b"\xff\0", 0) == "\\xff"
    assert string(struct.pack("=I", 9 << 16 | 4) + b"eth0", 0) is None
    assert string(b"ab", 0) is None

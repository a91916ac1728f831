"""Packets have a share of a record's bytes, whatever load there is."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.machine import packet_load
from tests.machine.contending import needs_counting
from tuneagent.machine import lock_recording, perf_event
from tuneagent.machine.lock_packets import RECORD_BYTES, Packets
from tuneagent.machine.lock_recording import LockRecording

MS = 1_000_000
FEWEST_SENT = 20_000
"""More than twice what a record of that size holds."""


class Kernel:
    """Two counters of packets, and which of them are on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts = {3: 0, 5: 0}
        self.on = {4: True, 6: True}
        self.looks = 0
        monkeypatch.setattr(perf_event, "grouped", self._grouped)
        monkeypatch.setattr(perf_event, "enable", lambda file: self.on.update({file: True}))
        monkeypatch.setattr(perf_event, "disable", lambda file: self.on.update({file: False}))

    def _grouped(self, leader: int, events: int) -> dict[int, int]:
        assert events == 2
        self.looks += 1
        return {10 * leader: 77, 10 * leader + 1: self.counts[leader]}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    return Kernel(monkeypatch)


@pytest.fixture
def packets() -> Packets:
    made = Packets()
    made.add(3, 2, 31, 4)
    made.add(5, 2, 51, 6)
    return made


def test_off_while_they_have_more_than_their_share(kernel: Kernel, packets: Packets) -> None:
    packets.let_in(0)
    kernel.counts = {3: 10, 5: 20}
    packets.weigh(50 * RECORD_BYTES, 4 * 29 * RECORD_BYTES, 7 * MS)
    assert set(kernel.on.values()) == {False}
    packets.weigh(50 * RECORD_BYTES, 4 * 29.5 * RECORD_BYTES, 8 * MS)
    assert set(kernel.on.values()) == {False}
    packets.weigh(50 * RECORD_BYTES, 4 * 31 * RECORD_BYTES, 10 * MS)
    assert set(kernel.on.values()) == {True}
    packets.shut(15 * MS)
    packets.let_in(100 * MS)
    packets.shut(101 * MS)
    assert packets.left_out
    assert packets.recorded_s == pytest.approx(0.013)


def test_on_where_the_bytes_are_those_of_waits(kernel: Kernel, packets: Packets) -> None:
    packets.let_in(0)
    kernel.counts = {3: 10, 5: 19}
    packets.weigh(5000 * RECORD_BYTES, 4 * 30 * RECORD_BYTES, 7 * MS)
    packets.shut(9 * MS)
    assert set(kernel.on.values()) == {True}
    assert not packets.left_out
    assert packets.recorded_s == pytest.approx(0.009)


def test_no_counter_is_read_where_little_comes(kernel: Kernel, packets: Packets) -> None:
    packets.let_in(0)
    packets.weigh(25, 100, MS)
    assert kernel.looks == 0


def test_a_kernel_without_that_tracepoint() -> None:
    none = Packets()
    none.let_in(0)
    none.weigh(1000, 1, MS)
    assert not none.left_out


@needs_counting
def test_waits_are_watched_all_the_time_under_a_load_of_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root for a network of its own")
    monkeypatch.setattr(lock_recording, "MOST_BYTES", 1 << 20)
    script = 'ip link set lo up && exec "$@"'
    command = ["unshare", "--net", "sh", "-c", script, "sh", sys.executable, packet_load.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
        assert load.stdin is not None
        assert load.stdout is not None
        if not load.stdout.readline():
            pytest.skip("no network of its own can be made here")
        recording = LockRecording(0.8)
        time.sleep(0.9)
        found = recording.value()
        sent, _ = load.communicate()
    if int(sent) < FEWEST_SENT:
        pytest.skip(f"too few packets are sent here: {int(sent)}")
    assert "packets are too many" in " ".join(found["limits"])
    watched_s = found["seconds"] if found["watched_s"] is None else found["watched_s"]
    assert watched_s > found["seconds"] / 2

"""The figures against the kernel's own accounts."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil

from tuneagent.machine.own_cost import cpu_seconds, peak_rss_bytes


def test_cpu_time_is_counted_once_it_is_spent() -> None:
    before, started = cpu_seconds(), time.process_time()
    while time.process_time() < started + 0.05:
        pass
    assert cpu_seconds() - before >= 0.045


def test_commands_count() -> None:
    loop = "import time\nwhile time.process_time() < 0.1: pass"
    before = cpu_seconds()
    subprocess.run([sys.executable, "-c", loop], check=True)
    assert cpu_seconds() - before >= 0.1


def test_the_peak_is_what_is_touched() -> None:
    before = psutil.Process().memory_info().rss
    block = bytearray(b"x") * (before + 2**24)
    peak = peak_rss_bytes()
    assert peak >= len(block)
    assert peak >= psutil.Process().memory_info().rss


def test_the_peak_is_ours_and_not_our_parent_s() -> None:
    block = bytearray(b"x") * 2**27
    code = "from tuneagent.machine.own_cost import peak_rss_bytes; print(peak_rss_bytes())"
    child = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(child.stdout) < len(block)

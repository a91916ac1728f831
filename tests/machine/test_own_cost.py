"""The meter against the kernel's own accounts."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil

from tuneagent.machine.own_cost import CostMeter, peak_rss_bytes


def burn(cpu_seconds: float) -> None:
    end = time.process_time() + cpu_seconds
    while time.process_time() < end:
        pass


def test_cpu_time_is_counted_once_it_is_spent() -> None:
    with CostMeter() as meter:
        before = time.process_time()
        burn(0.05)
        spent = time.process_time() - before
        cost = meter.cost()
    assert cost.cpu_seconds >= spent * 0.9
    assert cost.wall_seconds >= spent * 0.9


def test_commands_count() -> None:
    loop = "import time\nwhile time.process_time() < 0.1: pass"
    with CostMeter() as meter:
        subprocess.run([sys.executable, "-c", loop], check=True)
    assert meter.cost().cpu_seconds >= 0.1


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

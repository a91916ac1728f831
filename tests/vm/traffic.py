"""Packets into a guest from the other end of its wire, of so many flows that every queue gets some."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.vm.machine import GUEST_ADDRESS, Machine
from tests.vm.process import start

ARRIVAL_SECONDS = 60.0
# A short pause after each packet: an emulated guest that is flooded polls, and hardly takes an interrupt. Port 9
# discards (RFC 863); that nobody listens makes the guest answer now and then, which is traffic as well.
SEND = """\
import socket, sys, time
flows = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(64)]
while True:
    for flow in flows:
        flow.sendto(b"x" * 64, (sys.argv[1], 9))
        time.sleep(float(sys.argv[2]))
"""


@contextmanager
def arriving(machine: Machine, pause: float = 0.001) -> Iterator[None]:
    """Packets arrive at every queue of ``machine`` while the body runs, one flow after another."""
    words = [*machine.beside(), "python3", "-c", SEND, GUEST_ADDRESS, str(pause)]
    sender = start(words, machine.jobs.parent, f"sender-{machine.count}")
    try:
        _await_interrupts(machine)
        yield
        assert sender.running, sender.said.read_text(errors="replace")
    finally:
        sender.end()


def interrupts(machine: Machine) -> dict[int, tuple[str, tuple[int, ...]]]:
    """What /proc/interrupts says of the NIC's queues: by IRQ the name (``input.2``) and the counts by CPU."""
    return table(machine.run("cat /proc/interrupts").checked())


def table(text: str) -> dict[int, tuple[str, tuple[int, ...]]]:
    """The same of a text of /proc/interrupts, for a machine with four CPUs."""
    rows = re.findall(r"^ *(\d+):((?: +\d+){4}) .*-((?:in|out)put\.\d+)$", text, re.MULTILINE)
    return {int(irq): (name, tuple(map(int, counts.split()))) for irq, counts, name in rows}


def _await_interrupts(machine: Machine, more: int = 20) -> None:
    before = interrupts(machine)
    deadline = time.monotonic() + ARRIVAL_SECONDS
    while True:
        now = interrupts(machine)
        inputs = [irq for irq, (name, _) in now.items() if name.startswith("input")]
        if all(sum(now[irq][1]) - sum(before[irq][1]) >= more for irq in inputs):
            return
        assert time.monotonic() < deadline, f"no {more} interrupts at each of IRQs {inputs}: {before} then {now}"

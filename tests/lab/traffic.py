"""Packets from the hypervisor into a guest, of so many flows that every queue gets some."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.domain import Domain, Guest

UNIT = "lab-sender"
ARRIVAL_SECONDS = 90.0
# A pause after each packet leaves the only CPU of the hypervisor to the guest. Nobody listens on port 9.
SEND = """\
import socket, sys, time
flows = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(32)]
while True:
    for flow in flows:
        flow.sendto(b"x" * 64, (sys.argv[1], 9))
        time.sleep(0.01)
"""


@contextmanager
def arriving(domain: Domain) -> Iterator[None]:
    """Packets arrive at every queue of the guest's first NIC while the body runs."""
    words = shlex.join(["python3", "-c", SEND, domain.address])
    domain.run(f"systemd-run --quiet --collect --unit={UNIT} {words}").checked()
    try:
        _await_interrupts(domain.guest)
        yield
    finally:
        domain.run(f"systemctl stop {UNIT}").checked()


def queue_irqs(guest: Guest, nic: str = "eth0") -> dict[str, int]:
    """IRQs of a NIC's queues by name, ``input.0``; from /proc/interrupts and the directory of its interrupts."""
    command = (
        f"cd /sys/class/net/{nic}/device/../msi_irqs && for irq in *; do "
        'sed -nE "s/^ *($irq):.*-((in|out)put\\.[0-9]+)$/\\2 \\1/p" /proc/interrupts; done'
    )
    rows = [line.split() for line in guest.run(command).checked().splitlines()]
    return {name: int(irq) for name, irq in rows}


def counts(guest: Guest, irq: int) -> list[int]:
    """Interrupts by CPU since boot, CPU 0 first."""
    row = guest.run(f"grep -E '^ *{irq}:' /proc/interrupts").checked().split()[1:]
    return [int(word) for word in row[: guest.domain.definition.vcpus]]


def _await_interrupts(guest: Guest, more: int = 20) -> None:
    inputs = [irq for name, irq in queue_irqs(guest).items() if name.startswith("input")]
    before = {irq: sum(counts(guest, irq)) for irq in inputs}
    deadline = time.monotonic() + ARRIVAL_SECONDS
    while any(sum(counts(guest, irq)) - before[irq] < more for irq in inputs):
        assert time.monotonic() < deadline, f"no {more} interrupts at each of IRQs {inputs}"

"""Changes, entries and transactions for tests of what changes the machine. Every value differs from its neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.model.transaction import Deadline, Entry, Keeper, Kept, Lasts, Outcome, State, Transaction, Writer

BOOT_ID = "6f1c52a4-0d3b-4a58-9d8a-1f2e3c4b5a69"
BEGAN_NS = 1_760_000_000_123_456_789
FIRST_IRQ = 31
BUS_ADDRESS = "0000:00:03.0"

WRITER = Writer(pid=4711, start_ticks=123_456, user="root (sudo: alice)")
DEADLINE = Deadline(
    at_ns=BEGAN_NS + 60 * 10**9, at_boottime_ns=987_654_321_012, seconds=60.5, keeper=Keeper(4321, 987_654)
)
WHOLE_TARGET = Target(
    bus_address=BUS_ADDRESS,
    virtio="virtio3",
    mac="52:54:00:12:34:56",
    queue=5,
    queue_role="input",
    domain_uuid="0b0c0d0e-1111-2222-3333-444455556666",
    alias="net1",
    address="0000:07:00.0",
    position=2,
    thread_role="vhost",
    kernel_thread=True,
    parameter="kvm.halt_poll_ns",
    unit="irqbalance.service",
    interface="eth1",
    irq=38,
    tid=2_345,
    start_ticks=678_901,
    uri="qemu:///session",
)
"""A target with all that a target can have."""


def target(index: int = 0, **changes: Any) -> Target:
    """The interrupt of eth0's receive queue ``index``."""
    base = Target(bus_address=BUS_ADDRESS, queue=index, queue_role="input", interface="eth0", irq=FIRST_IRQ + 2 * index)
    return replace(base, **changes)


def change(index: int = 0, **changes: Any) -> Change:
    """Moves the interrupt of receive queue ``index`` from CPUs 0-3 to CPU ``index``."""
    where = f"/proc/irq/{FIRST_IRQ + 2 * index}/smp_affinity_list"
    base = Change(
        kind=TunableKind.IRQ_AFFINITY,
        target=target(index),
        where=where,
        old="0-3",
        new=str(index),
        why=f"receive queue {index} of eth0 on CPU {index}",
        do=f"echo {index} > {where}",
        undo=f"echo 0-3 > {where}",
    )
    return replace(base, **changes)


def entry(index: int = 0, **changes: Any) -> Entry:
    """The change of :func:`change`, announced."""
    of = change(index)
    base = Entry(
        index=index,
        policy="pin-queue-interrupts",
        kind=of.kind,
        target=of.target,
        where=of.where,
        old="0-3",
        new=of.new,
        why=of.why,
        lasts=Lasts.BOOT,
    )
    return replace(base, **changes)


def kept(index: int = 0, **changes: Any) -> Kept:
    """XPS of transmit queue ``index``, which goes with the number of channels."""
    where = f"/sys/class/net/eth0/queues/tx-{index}/xps_cpus"
    of = target(index, queue_role="output", irq=None)
    return replace(Kept(TunableKind.XPS_CPUS, of, where, f"{1 << index:x}"), **changes)


def transaction(count: int = 2, **changes: Any) -> Transaction:
    """Transaction 12, committed, with ``count`` changed entries."""
    base = Transaction(
        id=12,
        began_ns=BEGAN_NS,
        boot_id=BOOT_ID,
        version="1.2.3",
        writer=WRITER,
        command="tuneagent apply pin-queue-interrupts --on eth0",
        entries=tuple(entry(index, outcome=Outcome.CHANGED) for index in range(count)),
        state=State.COMMITTED,
    )
    return replace(base, **changes)

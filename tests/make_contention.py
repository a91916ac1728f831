"""Waits for locks built in memory, for tests of pure code. Every value differs from its neighbours on purpose."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tuneagent.model.contention import (
    Contended,
    Contention,
    ContentionCounts,
    Context,
    Frame,
    LockClass,
    LockEvent,
    LockGroup,
    LockKind,
    LockRecord,
    LockStat,
    SpinVisibility,
    Stack,
)

SPIN, READ, WRITE, RT, PERCPU, MUTEX = 1, 2, 4, 8, 16, 32
"""LCB_F_* of include/trace/events/lock.h."""
DESCRIPTOR = 0xFFFF_8881_00A5_E0A4
"""Address of an interrupt's descriptor lock."""
TRANSMIT = 0xFFFF_8881_0234_7C80
"""Address of a transmit queue's lock."""
SLOWPATH = ("trace_contention_begin", "__pv_queued_spin_lock_slowpath", "_raw_spin_lock")
"""How every wait for a spinlock begins in a guest with paravirtual spinlocks."""
INTERRUPT = ("__common_interrupt", "common_interrupt", "asm_common_interrupt")
"""How every interrupt of a device ends on x86."""
EDGE = (*SLOWPATH, "handle_edge_irq", *INTERRUPT, "default_idle", "cpu_startup_entry")
AFTER_HANDLER = (*SLOWPATH, "handle_irq_event", "handle_edge_irq", *INTERRUPT, "default_idle", "cpu_startup_entry")
SHOWN = (*SLOWPATH, "show_interrupts", "seq_read_iter", "proc_reg_read_iter", "vfs_read", "ksys_read", "do_syscall_64",
         "entry_SYSCALL_64_after_hwframe")  # fmt: skip
"""cat /proc/interrupts."""
PLACED = (*SLOWPATH, "__irq_get_desc_lock", "irq_set_affinity", "write_irq_affinity.constprop.0", "proc_reg_write",
          "vfs_write", "ksys_write", "do_syscall_64", "entry_SYSCALL_64_after_hwframe")  # fmt: skip
"""echo 1 > /proc/irq/31/smp_affinity."""
VLAN_TRANSMIT = (*SLOWPATH, "__dev_queue_xmit", "vlan_dev_hard_start_xmit", "dev_hard_start_xmit", "__dev_queue_xmit",
                 "ip_finish_output2", "ip_forward", "ip_rcv", "__netif_receive_skb_core.constprop.0",
                 "process_backlog", "__napi_poll", "net_rx_action", "handle_softirqs", "irq_exit_rcu",
                 "common_interrupt", "asm_common_interrupt")  # fmt: skip
"""A packet forwarded out of a VLAN device, at the transmit lock of the device below."""


def stack(*symbols: str | None, module: str | None = None) -> Stack:
    """Frames by their symbols, innermost first; 0x10, 0x11, … bytes into them."""
    return tuple(Frame(symbol, module, 0x10 + place) for place, symbol in enumerate(symbols))


@dataclass(slots=True)
class Story:
    """A record told event by event, in order of time; :meth:`record` ends it."""

    events: list[LockEvent] = field(default_factory=list)
    stacks: list[Stack] = field(default_factory=list)

    def begin(self, at_ns: int, cpu: int, tid: int, address: int, symbols: tuple[str, ...], flags: int = SPIN) -> Story:
        """A wait begins."""
        told = stack(*symbols)
        if told not in self.stacks:
            self.stacks.append(told)
        place = self.stacks.index(told)
        return self._add("contention_begin", at_ns, cpu, tid, address=address, flags=flags, stack=place)

    def end(self, at_ns: int, cpu: int, tid: int, address: int) -> Story:
        """It ends."""
        return self._add("contention_end", at_ns, cpu, tid, address=address)

    def wait(
        self,
        at_ns: int,
        waited_ns: int,
        cpu: int,
        tid: int,
        address: int,
        symbols: tuple[str, ...],
        flags: int = SPIN,
    ) -> Story:
        """A wait begins, and ends on the same CPU with nothing between."""
        return self.begin(at_ns, cpu, tid, address, symbols, flags).end(at_ns + waited_ns, cpu, tid, address)

    def handled(self, at_ns: int, took_ns: int, cpu: int, irq: int, tid: int = 0) -> Story:
        """An interrupt's handler runs."""
        self._add("irq_handler_entry", at_ns, cpu, tid, irq=irq)
        return self._add("irq_handler_exit", at_ns + took_ns, cpu, tid, irq=irq)

    def sent(self, at_ns: int, cpu: int, device: str, tid: int = 0) -> Story:
        """A packet is given to a device."""
        return self._add("net_dev_start_xmit", at_ns, cpu, tid, device=device)

    def record(self, **changes: Any) -> LockRecord:
        """Two seconds of it."""
        base = LockRecord(
            seconds=2.0,
            events=tuple(self.events),
            stacks=tuple(self.stacks),
            tasks={101: "server", 102: "cat", 103: "ksoftirqd/1"},
            lost=0,
            throttled=0,
            truncated=False,
            cpu_s=0.013,
            limits=(),
            read_at_ns=3 * 10**9,
        )
        return replace(base, **changes)

    def _add(self, kind: str, at_ns: int, cpu: int, tid: int, **fields: Any) -> Story:
        nothing: dict[str, Any] = dict.fromkeys(("address", "flags", "irq", "device", "stack"))
        self.events.append(LockEvent(kind, at_ns, cpu, tid, **(nothing | fields)))
        return self


def record_value(record: LockRecord) -> dict[str, Any]:
    """The record as the captured source ``lock-record`` tells it."""
    events = [
        [one.kind, one.time_ns, one.cpu, one.tid, one.address, one.flags, one.irq, one.device, one.stack]
        for one in record.events
    ]
    stacks = [[[frame.symbol, frame.module, frame.offset] for frame in told] for told in record.stacks]
    return {
        "seconds": record.seconds,
        "events": events,
        "stacks": stacks,
        "tasks": {str(tid): name for tid, name in record.tasks.items()},
        "lost": record.lost,
        "throttled": record.throttled,
        "truncated": record.truncated,
        "cpu_s": record.cpu_s,
        "limits": list(record.limits),
    }


def counts(per_cpu: dict[int, int] | None = None, **changes: Any) -> ContentionCounts:
    """Counters opened at 0.5 s and read at 1 s, on a guest with paravirtual spinlocks."""
    base = ContentionCounts(per_cpu or {0: 1_100, 1: 2_300}, 500_000_000, 10**9, SpinVisibility.EVERY)
    return replace(base, **changes)


def contended(**changes: Any) -> Contended:
    """Waits at the descriptor lock of virtio0-input.0, which two CPUs take."""
    base = Contended(
        group=LockGroup.IRQ_DESCRIPTOR,
        kind=LockKind.SPIN,
        caller="handle_edge_irq",
        waits=900,
        paired=880,
        wait_total_ns=4_400_000,
        wait_max_ns=31_000,
        per_cpu={0: 500, 1: 400},
        contexts={Context.HARDIRQ: 890, Context.TASK: 10},
        tasks=("server", "cat"),
        locks=1,
        subject="IRQ 31 (virtio0-input.0)",
        subject_reason="beside the handler of this interrupt: 870 of the 900 waits at this lock",
        irq=31,
        callers=("__common_interrupt", "common_interrupt", "asm_common_interrupt"),
    )
    return replace(base, **changes)


def contention(*rows: Contended, **changes: Any) -> Contention:
    """What is known of waiting over 2 s: 450 waits a second on CPU 0 and 300 on CPU 1; rows as they come."""
    base = Contention(
        per_cpu_per_sec={0: 450.0, 1: 300.0},
        counted_reason=None,
        spin=SpinVisibility.EVERY,
        seconds=2.0,
        rows=rows or (contended(),),
        recorded_reason=None,
        lost=0,
        throttled=0,
        truncated=False,
        unpaired=20,
        cpu_s=0.013,
        limits=(),
    )
    return replace(base, **changes)


def lock_class(name: str = "&irq_desc_lock_class", **changes: Any) -> LockClass:
    """A class of /proc/lock_stat that was waited for."""
    base = LockClass(
        name=name,
        contentions=1_200,
        con_bounces=1_100,
        wait_min_us=0.12,
        wait_max_us=35.5,
        wait_total_us=5_400.25,
        wait_avg_us=4.5,
        acquisitions=98_000,
        acq_bounces=64_000,
        hold_min_us=0.05,
        hold_max_us=21.75,
        hold_total_us=41_000.5,
        hold_avg_us=0.42,
        points=(("handle_edge_irq+0x1e", 800), ("handle_irq_event+0x5a", 400)),
    )
    return replace(base, **changes)


def lock_stat(*classes: LockClass, **changes: Any) -> LockStat:
    """/proc/lock_stat of version 0.4, switched on."""
    return replace(LockStat("0.4", True, False, classes or (lock_class(),), 10**9), **changes)

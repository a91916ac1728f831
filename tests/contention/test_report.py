"""A whole record: what a person reads of it, and what must hold of any."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.make_contention import (
    AFTER_HANDLER,
    DESCRIPTOR,
    EDGE,
    MUTEX,
    SHOWN,
    SLOWPATH,
    SPIN,
    TRANSMIT,
    VLAN_TRANSMIT,
    Story,
)
from tuneagent.contention import Report, report
from tuneagent.contention.frames import UNKNOWN
from tuneagent.contention.pairing import BEGIN
from tuneagent.model.contention import Contended, Context, Frame, LockEvent, LockGroup, LockKind, LockRecord

MS = 1_000_000
ACTIONS = {31: "virtio0-input.0"}


def descriptor_story() -> Story:
    """The interrupt of a queue falls on two CPUs in turn, and somebody reads the list of interrupts."""
    story = Story()
    for turn in range(4):
        at_ns, cpu = turn * MS, turn % 2
        story.handled(at_ns, 9_000, cpu, 31)
        story.wait(at_ns + 9_100, 300 + turn, cpu, 0, DESCRIPTOR, AFTER_HANDLER)
        story.wait(at_ns + 4_000, 500 + turn, 1 - cpu, 101, DESCRIPTOR, EDGE)
    story.begin(9 * MS, 1, 102, DESCRIPTOR, SHOWN)
    return story


def test_the_descriptor_lock_of_an_interrupt_that_two_cpus_take() -> None:
    found = report(descriptor_story().record(), ACTIONS)
    assert (found.waits, found.unpaired, found.repeated) == (9, 1, 0)
    edge, after, shown = found.rows
    assert edge == Contended(
        group=LockGroup.IRQ_DESCRIPTOR,
        kind=LockKind.SPIN,
        caller="handle_edge_irq",
        waits=4,
        paired=4,
        wait_total_ns=500 + 501 + 502 + 503,
        wait_max_ns=503,
        per_cpu={0: 2, 1: 2},
        contexts={Context.HARDIRQ: 4},
        tasks=(),
        locks=1,
        subject="IRQ 31 (virtio0-input.0)",
        subject_reason="beside the handler of this interrupt: 4 of the 9 waits at this lock",
        irq=31,
        device=None,
        callers=("__common_interrupt", "common_interrupt", "asm_common_interrupt", "default_idle", "cpu_startup_entry"),
    )
    assert (after.caller, after.wait_total_ns, after.irq) == ("handle_irq_event", 1_206, 31)
    assert (shown.caller, shown.waits, shown.paired, shown.wait_max_ns) == ("show_interrupts", 1, 0, 0)
    assert (shown.tasks, shown.contexts, shown.irq) == (("cat",), {Context.TASK: 1}, 31)


def test_the_transmit_lock_below_a_vlan() -> None:
    story = Story()
    for turn in range(6):
        at_ns, cpu = turn * MS, turn % 3
        story.sent(at_ns, cpu, "eth0.7").wait(at_ns + 100, 2_000 + turn, cpu, 0, TRANSMIT, VLAN_TRANSMIT)
        story.sent(at_ns + 2_200, cpu, "eth0")
    (row,) = report(story.record()).rows
    assert (row.group, row.caller, row.subject, row.device) == (LockGroup.TRANSMIT, "__dev_queue_xmit", "eth0", "eth0")
    assert (row.waits, row.per_cpu, row.contexts) == (6, {0: 2, 1: 2, 2: 2}, {Context.SOFTIRQ: 6})
    assert row.callers[0] == "vlan_dev_hard_start_xmit"


def test_the_transmit_lock_of_a_vlan_device_with_one_queue() -> None:
    # Before VLAN devices had several queues and no lock of their own (Linux 2.6.32), what waited had this stack.
    names = (
        *SLOWPATH,
        "dev_queue_xmit",
        "vlan_netdev_xmit",
        "ip_finish_output",
        "ip_forward",
        "ip_rcv",
        "net_rx_action",
    )
    story = Story()
    for turn in range(3):
        story.wait(turn * MS, 700, turn, 0, TRANSMIT, names).sent(turn * MS + 800, turn, "eth1.9")
    (row,) = report(story.record()).rows
    assert (row.group, row.subject, row.locks) == (LockGroup.TRANSMIT, "eth1.9", 1)


def test_locks_of_two_interrupts_are_two_rows() -> None:
    story = Story()
    for irq in (31, 32):
        story.handled(irq * MS, 4_000, 0, irq).wait(irq * MS + 4_100, irq, 0, 0, DESCRIPTOR + irq, AFTER_HANDLER)
    assert [row.subject for row in report(story.record(), ACTIONS).rows] == ["IRQ 32", "IRQ 31 (virtio0-input.0)"]


def test_many_locks_of_one_place_are_one_row() -> None:
    names = (*SLOWPATH, "futex_wake", "do_futex", "do_syscall_64")
    story = Story()
    for turn in range(5):
        story.wait(turn * MS, 100, 0, 101 + turn % 2, 0xF000 + 64 * turn, names)
    (row,) = report(story.record()).rows
    assert (row.group, row.locks, row.waits, row.tasks) == (LockGroup.FUTEX, 5, 5, ("server", "cat"))


def test_a_task_that_was_interrupted_is_not_named() -> None:
    (row,) = report(Story().wait(0, 90, 0, 101, DESCRIPTOR, EDGE).record()).rows
    assert (row.tasks, row.contexts) == ((), {Context.HARDIRQ: 1})


def test_a_wait_without_a_stack_is_told_as_such() -> None:
    begin = LockEvent(BEGIN, 5, 2, 101, DESCRIPTOR, SPIN, None, None, None)
    (row,) = report(Story().record(events=(begin,))).rows
    assert (row.caller, row.callers, row.group, row.contexts) == (UNKNOWN, (), LockGroup.OTHER, {})
    assert row.tasks == ("server",)


def test_frames_without_a_name_are_shown_as_unknown() -> None:
    frames = (Frame("_raw_spin_lock", None, 1), Frame(None, "vhost", 2), Frame("kthread", None, 3))
    begin = LockEvent(BEGIN, 5, 2, 101, DESCRIPTOR, SPIN, None, None, 0)
    (row,) = report(Story().record(events=(begin,), stacks=(frames,))).rows
    assert (row.caller, row.callers) == (UNKNOWN, ("kthread",))


def test_a_record_of_no_wait_has_no_row() -> None:
    assert report(Story().handled(5, 1, 0, 31).record()) == Report((), 0, 0, 0)


SYMBOLS = [None, "_raw_spin_lock", "handle_edge_irq", "handle_irq_event", "__dev_queue_xmit", "dev_hard_start_xmit",
           "asm_common_interrupt", "handle_softirqs", "futex_wake", "kthread", "\x1b[31m", ".", ""]  # fmt: skip
FRAMES = st.builds(Frame, st.sampled_from(SYMBOLS), st.none(), st.none())
STACKS = st.lists(st.lists(FRAMES, max_size=5).map(tuple), max_size=3).map(tuple)
SMALL = st.integers(0, 3)
EVENTS = st.lists(
    st.builds(
        LockEvent,
        st.sampled_from([BEGIN, BEGIN, "contention_end", "irq_handler_entry", "irq_handler_exit", "net_dev_start_xmit",
                         "something"]),
        st.integers(0, 60),
        SMALL,
        SMALL,
        st.none() | SMALL,
        st.none() | st.sampled_from([0, SPIN, MUTEX, MUTEX | SPIN, 2**32 - 1]),
        st.none() | SMALL,
        st.none() | st.sampled_from(["eth0", "eth1"]),
        st.none() | st.integers(-1, 4),
    ),
    max_size=40,
).map(tuple)  # fmt: skip


@given(events=EVENTS, stacks=STACKS)
def test_whatever_the_record_holds_its_waits_are_all_told_once(
    events: tuple[LockEvent, ...], stacks: tuple[tuple[Frame, ...], ...]
) -> None:
    found = report(Story().record(events=events, stacks=stacks), {1: "virtio0-input.0"})
    begins = sum(1 for event in events if event.kind == BEGIN)
    assert sum(row.waits for row in found.rows) == found.waits == begins - found.repeated
    assert sum(row.paired for row in found.rows) == found.waits - found.unpaired
    for row in found.rows:
        assert sum(row.per_cpu.values()) == row.waits
        assert sum(row.contexts.values()) <= row.waits
        assert 0 <= row.wait_max_ns <= row.wait_total_ns <= 60 * row.paired
        assert (row.subject is None) == (row.irq is None and row.device is None)
        assert row.subject_reason
        assert row.locks <= row.waits


@given(events=EVENTS, stacks=STACKS)
def test_the_order_of_events_of_different_cpus_is_nothing(
    events: tuple[LockEvent, ...], stacks: tuple[tuple[Frame, ...], ...]
) -> None:
    timed = [LockEvent(one.kind, place, one.cpu, one.tid, one.address, one.flags, one.irq, one.device, one.stack)
             for place, one in enumerate(events)]  # fmt: skip
    by_cpu: LockRecord = Story().record(events=tuple(sorted(timed, key=lambda one: one.cpu)), stacks=stacks)
    assert report(by_cpu) == report(Story().record(events=tuple(timed), stacks=stacks))

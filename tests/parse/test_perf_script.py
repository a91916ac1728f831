from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.contention import Frame, LockEvent
from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.model.profile import SymbolSamples
from tuneagent.parse import perf_script
from tuneagent.parse.perf_script import PerfScript, parse

LOCKS = """\
tuneagent 29344 [001] 15615.513516: lock:contention_begin: 0xffff8881003c366c (flags=SPIN)
\tffffffff82201d7e __pv_queued_spin_lock_slowpath+0x10e ([kernel.kallsyms])
\tffffffff8220101d _raw_spin_lock_irqsave+0x4d ([kernel.kallsyms])
\tffffffffc0a1b2c3 start_xmit+0x4e ([virtio_net])
\t    7f75e1f618a8 [unknown] ([unknown])

rcu_preempt    15 [000] 15615.513520: lock:contention_begin: 0xffffffff830f6018 (flags=MUTEX|SPIN)
\tffffffff82201d7e __pv_queued_spin_lock_slowpath+0x10e ([kernel.kallsyms])
\tffffffff8220101d _raw_spin_lock_irqsave+0x4d ([kernel.kallsyms])
\tffffffffc0a1b2c3 start_xmit+0x4e ([virtio_net])

tuneagent 29344 [001] 15615.513553:   lock:contention_end: 0xffff8881003c366c (ret=0)
\tffffffff82201dcb __pv_queued_spin_lock_slowpath+0x15b ([kernel.kallsyms])

 swapper     0 [001] 15957.179581:  irq:irq_handler_entry: irq=36 name=virtio1-req.0
 swapper     0 [001] 15957.179586:   irq:irq_handler_exit: irq=36 ret=handled
    iperf  4242 [000] 15957.179590: net:net_dev_start_xmit: dev=eth0 queue_mapping=0 skbaddr=0xffff888100a5e0a4 len=90
"""
STACKS = """\
perf 31880 [000] 15857.625193:    2004008 cpu-clock: 
\tffffffff8157cef2 skb_release_data+0xa2 ([kernel.kallsyms])
\tffffffff81000130 entry_SYSCALL_64_after_hwframe+0x76 ([kernel.kallsyms])
\t           20ca3 mmap64+0x13 (/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2)

qemu-system-x86 21512 [001] 15857.627190:    2004008 cpu-clock: 
\t          8de6e0 [unknown] (/usr/bin/qemu-system-x86_64 (deleted))

qemu-system-x86 21512 [001] 15857.629190:    2004008 cpu-clock: 

swapper     0 [003] 15858.125193:    2004008 cpu-clock: 
\tffffffff822018a2 pv_native_safe_halt+0x2 ([kernel.kallsyms])

swapper     0 [003] 15859.125193:    2004008 cpu-clock: 
\tffffffffc0a1b2c3 napi_poll+0x2 ([virtio_net])

"""  # noqa: W291  # so perf ends the line of an event with a stack
FLAT = """\
            perf 32283 [000] 15859.933219:    2004008 cpu-clock:  ffffffff81b9890d dst_release+0x4d ([kernel.kallsyms])
 qemu-system-x86 21507/21512 [001] 15859.933338711:    2004008 cycles:ppp:      7fcf85c90a65 [unknown] (/tmp/perf-1.map)
     Web Content  4142 [001] 15859.935222: cycles:  ffffffff81b9890f .dst_release+0x4f ([kernel.kallsyms])
   a 12 [b] c: d  4143 [001] 15859.937222: cycles:  ffffffffc0a1b2c3 [unknown] ([unknown])
     CPU 0/KVM  4144 [002] K  15859.939222: cycles:  ffffffff81b98910 foo+0x1 ([guest.kernel.kallsyms])
"""


def symbols(script: PerfScript) -> tuple[SymbolSamples, ...]:
    assert script.profile is not None
    return script.profile.kernel


def event(line: str) -> LockEvent:
    locks = parse(f"{line}\n").locks
    assert locks is not None
    (only,) = locks.events
    return only


def test_lock_events_keep_the_kernels_part_of_their_stacks() -> None:
    script = parse(LOCKS)
    locks = script.locks
    assert locks is not None
    assert (script.profile, script.fault) == (None, None)
    assert locks.events[:3] == (
        LockEvent("contention_begin", 15615513516000, 1, 29344, 0xFFFF8881003C366C, 1, None, None, 0),
        LockEvent("contention_begin", 15615513520000, 0, 15, 0xFFFFFFFF830F6018, 33, None, None, 0),
        LockEvent("contention_end", 15615513553000, 1, 29344, 0xFFFF8881003C366C, None, None, None, 1),
    )
    assert locks.stacks[0] == (
        Frame("__pv_queued_spin_lock_slowpath", None, 0x10E),
        Frame("_raw_spin_lock_irqsave", None, 0x4D),
        Frame("start_xmit", "virtio_net", 0x4E),
    )
    assert locks.tasks == {29344: "tuneagent", 15: "rcu_preempt", 0: "swapper", 4242: "iperf"}
    assert locks.seconds == pytest.approx(341.666074)


def test_interrupts_and_transmits_stand_in_the_same_record() -> None:
    locks = parse(LOCKS).locks
    assert locks is not None
    assert [(each.kind, each.irq, each.device, each.stack) for each in locks.events[3:]] == [
        ("irq_handler_entry", 36, None, None),
        ("irq_handler_exit", 36, None, None),
        ("net_dev_start_xmit", None, "eth0", None),
    ]


@pytest.mark.parametrize(
    ("flags", "bits"),
    [("", 0), ("SPIN|READ", 3), ("RT|WRITE", 12), ("PERCPU|READ", 18), ("MUTEX|0x40", 96), ("33", 33)],
)
def test_flags_of_a_wait(flags: str, bits: int) -> None:
    assert event(f"a 1 [000] 1.000000: lock:contention_begin: 0xff (flags={flags})").flags == bits


def test_samples_count_for_their_innermost_function() -> None:
    script = parse(STACKS)
    profile = script.profile
    assert profile is not None
    assert profile.kernel == (
        SymbolSamples("napi_poll", "virtio_net", {3: 1}),
        SymbolSamples("skb_release_data", None, {0: 1}),
    )
    assert (profile.event, profile.seconds, profile.cpus) == ("cpu-clock", 1.5, (0, 1, 3))
    assert (profile.user_samples, profile.idle_samples) == (1, 1)
    assert profile.shares_percent == {"skb_release_data": 25, "napi_poll": 25}
    assert any("1 of 5 samples" in limit for limit in profile.limits)


def test_samples_without_stacks_and_with_odd_commands() -> None:
    script = parse(FLAT)
    assert script.fault is None
    assert script.profile is not None
    assert [(each.symbol, each.per_cpu) for each in symbols(script)] == [
        ("dst_release", {0: 1, 1: 1}),
        ("[unknown]", {1: 1}),
    ]
    assert script.profile.user_samples == 2
    assert script.profile.event == "cycles and cpu-clock"


def test_other_events_are_passed_over() -> None:
    other = (
        "a 1 [000] 1.000000: sched:sched_switch: prev_comm=b prev_pid=3 ==> next_comm=c\n\tffffffff81000000 f+0x1\n\n"
    )
    script = parse(f"# captured on: nowhere\n#\n{other}{FLAT}")
    assert script.fault is None
    assert [each.symbol for each in symbols(script)] == ["dst_release", "[unknown]"]


def test_functions_in_line_and_sources_are_not_functions() -> None:
    text = """\
a 1 [000] 1.000000: cycles:
        ffffffff81000010 arch_atomic_dec (inlined)
  include/linux/atomic.h:12
        ffffffff81000010 dst_release+0x10 (/usr/lib/debug/boot/vmlinux-6.12.1)
  net/core/dst.c:168
"""
    assert [(each.symbol, each.module) for each in symbols(parse(text))] == [("dst_release", None)]


def test_without_cpus_only_the_shares_are_known() -> None:
    profile = parse("a 1 1.000000: 250000 cycles: ffffffff81000010 f+0x1 ([kernel.kallsyms])\n").profile
    assert profile is not None
    assert (profile.kernel, profile.cpus, profile.shares_percent) == ((), (), {"f": 100})
    assert any("field cpu" in limit for limit in profile.limits)


def test_lost_events_are_counted_where_they_are_told() -> None:
    profile = parse(f"{FLAT}swapper 0 [000] 15860.000000: PERF_RECORD_LOST lost 17\n").profile
    assert profile is not None
    assert profile.lost == 17


def test_what_is_cut_off_is_left_out_and_named() -> None:
    whole = parse(STACKS)
    cut = parse(STACKS[: STACKS.index("napi_poll") + 4])
    assert [each.symbol for each in symbols(whole)] == ["napi_poll", "skb_release_data"]
    assert [each.symbol for each in symbols(cut)] == ["skb_release_data"]
    assert cut.fault is not None
    assert (cut.fault.line, "cut off" in cut.fault.detail) == (15, True)


def test_a_line_among_the_events_is_the_one_fault() -> None:
    script = parse(f"{FLAT}Warning:\nProcessed 7801 events and lost 1 chunks!\n{FLAT}")
    assert script.fault is not None
    assert script.fault.line == 6
    assert sum(each.samples for each in symbols(script)) == 6


def test_a_broken_event_is_a_fault_beside_the_others() -> None:
    script = parse(LOCKS.replace("0xffffffff830f6018 ", "none "))
    assert script.locks is not None
    assert len(script.locks.events) == 5
    assert script.fault is not None
    assert script.fault.line == 7


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("hello\nworld\n", 1, "nothing that perf script prints"),
        ("\n\n#include <stdio.h>\nint main(void)\n", 4, "nothing that perf script prints"),
        ("a 1 [000] 1.000000: instructions: ff f (x)\n", 1, "'instructions'"),
        (LOCKS[:300], 5, "cut off at the end"),
        ("a 1 [000] 1.000000: cycles: \n\n", 1, "fields ip and sym"),
        ("a 1 [000] lock:contention_begin: 0xff (flags=SPIN)\n", 1, "fields cpu and time"),
        ("a 1 [000] 1.000000: lock:contention_begin: 0xff\n", 1, "without flags"),
        ("a 1 [000] 1.000000: lock:contention_begin: 0xff (flags=SPUN)\n", 1, "no flag"),
        ("a 1 [000] 1.000000: irq:irq_handler_entry: irq=x\n", 1, "not a number"),
        ("a 1 [000] 1.000000: net:net_dev_start_xmit: len=3\n", 1, "without its device"),
        ("a\x1b[2J 1 [000] 1.000000: cycles: ffffffff81000010 f+0x1 ([kernel])\n", 1, "unprintable"),
        ("a 1 [9999] 1.000000: cycles: ffffffff81000010 f+0x1 ([kernel])\n", 1, "nothing that perf script prints"),
    ],
)
def test_a_text_without_anything_that_counts_is_refused(text: str, line: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)
    assert caught.value.line == line


def test_nothing_is_empty() -> None:
    with pytest.raises(ParseError) as caught:
        parse("\n\n")
    assert caught.value.reason is Reason.EMPTY


def test_events_depth_and_noise_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_script, "MAX_EVENTS", 2)
    script = parse(LOCKS)
    assert script.locks is not None
    assert (len(script.locks.events), script.locks.truncated) == (2, True)
    monkeypatch.setattr(perf_script, "MAX_DEPTH", 2)
    deep = parse(LOCKS).locks
    assert deep is not None
    assert [len(stack) for stack in deep.stacks] == [2]
    monkeypatch.setattr(perf_script, "MAX_FOREIGN", 3)
    noise = parse(f"{LOCKS.splitlines()[-1]}\n\n" + "noise\n" * 3 + LOCKS).locks
    assert noise is not None
    assert (len(noise.events), noise.truncated) == (1, True)


PIECES = st.sampled_from(
    [*LOCKS.split("\n"), *STACKS.split("\n"), *FLAT.split("\n"), "a", "1", "[000]", "1.000000:", "cycles:", "\t", "ff",
     "f+0x1", "(", ")", "))", "(inlined)", "[unknown]", "\x00", "9" * 400, "(flags=", "irq=",
     "dev=", "PERF_RECORD_LOST"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30), st.sampled_from(["\n", " ", ""]))
def test_whatever_is_said_is_a_script_or_a_fault(pieces: list[str], between: str) -> None:
    for text in (between.join(pieces), FLAT + between.join(pieces)):
        with suppress(ParseError):
            script = parse(text)
            assert script.profile or script.locks

from __future__ import annotations

from typing import Any

import pytest

from tests import make_contention
from tuneagent.model.contention import Contended, Contention, LockGroup, SpinVisibility
from tuneagent.report import plain
from tuneagent.report.waits_text import waits_blocks


def shown(contention: Contention | None, *, verbose: bool = False) -> str:
    return plain.write(tuple(waits_blocks(contention, verbose=verbose)), 160)


def waits(*rows: Contended, **changes: Any) -> Contention:
    return make_contention.contention(*rows, **({"rows": rows, "unpaired": 0} | changes))


def test_the_lock_its_interrupt_who_wants_it_and_what_it_costs() -> None:
    text = shown(waits(make_contention.contended()))
    assert "Waiting for locks: 750/s (CPU 0: 450, CPU 1: 300)" in text
    (row,) = [line for line in text.splitlines() if "handle_edge_irq" in line]
    for cell in ("interrupt-descriptor (spinlock)", "IRQ 31 (virtio0-input.0)", "450", "0.22 %", "31 µs", "0-1"):
        assert cell in row
    assert "Each wait for a spinlock shows here" in text


def test_six_rows_and_the_rest_with_verbose() -> None:
    rows = [make_contention.contended(caller=f"place_{place}") for place in range(8)]
    assert "place_5" in shown(waits(*rows))
    assert "place_6" not in shown(waits(*rows))
    assert "… 2 more with --verbose" in shown(waits(*rows))
    assert "place_7" in shown(waits(*rows), verbose=True)


@pytest.mark.parametrize("nothing", [None, waits(per_cpu_per_sec=None, seconds=None), waits(per_cpu_per_sec={0: 0.0})])
def test_without_a_wait_there_is_no_line(nothing: Contention | None) -> None:
    assert shown(nothing).strip() == ""


def test_verbose_tells_that_there_was_none() -> None:
    text = shown(waits(per_cpu_per_sec={0: 0.0, 1: 0.0}, spin=SpinVisibility.NONE), verbose=True)
    assert "Waiting for locks: 0/s" in text
    assert "No wait for a spinlock shows here" in text


@pytest.mark.parametrize(
    ("spin", "words"), [(SpinVisibility.FROM_THIRD, "a third CPU"), (SpinVisibility.UNKNOWN, "is not known")]
)
def test_what_does_not_show_is_said(spin: SpinVisibility, words: str) -> None:
    assert words in shown(waits(make_contention.contended(), spin=spin))


def test_what_the_record_lacks_is_said() -> None:
    text = shown(
        waits(make_contention.contended(), lost=3, throttled=2, unpaired=1, limits=("no function has a name: zeros",))
    )
    assert "the kernel dropped 3 events, it was held back 2 times, of 1 wait the end was not seen" in text
    assert "No function has a name: zeros." in text


def test_few_waits_without_a_record_are_told_on_demand() -> None:
    few = waits(seconds=None, rows=(), per_cpu_per_sec={0: 12.0, 1: 30.0})

    assert "Waiting for locks" not in shown(few)
    assert "Waiting for locks: 42/s" in shown(few, verbose=True)


def test_counts_without_a_record_and_a_record_without_counts() -> None:
    counted = shown(waits(seconds=None, recorded_reason="the buffer is too small"))
    assert "750/s" in counted
    assert "At which locks is not known: the buffer is too small." in counted
    alone = shown(waits(make_contention.contended(), per_cpu_per_sec=None))
    assert "Waiting for locks: 900 waits recorded in 2 s, not counted by CPU" in alone


def test_unknown_owner_and_untimed_waits_are_words() -> None:
    row = make_contention.contended(
        group=LockGroup.TRANSMIT, subject=None, irq=None, paired=0, wait_total_ns=0, wait_max_ns=0, tasks=()
    )
    text = shown(waits(row))
    assert "cannot tell" in text
    assert text.count("unknown") == 2
    assert "hardirq" in text
    assert "cannot tell" not in shown(waits(make_contention.contended(group=LockGroup.SOCKET, subject=None)))


def test_names_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in shown(waits(make_contention.contended(caller="a\x1b[2J", subject="b\x1b[2J", tasks=("\x1b",))))

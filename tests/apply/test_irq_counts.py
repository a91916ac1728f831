"""Counts of an interrupt, from its own file and from the table."""

from __future__ import annotations

from pathlib import Path

from tests.observe.looking import put
from tests.trees import FIRST_IRQ, Wiring, guest
from tuneagent.apply import irq_counts
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.cpuset import CpuSet

IRQ = FIRST_IRQ + 1


def test_its_own_file_comes_first_and_its_columns_are_possible_cpus(tmp_path: Path) -> None:
    guest(tmp_path, cpus=2)
    put(tmp_path, "/sys/devices/system/cpu/possible", "0,2,5\n")
    put(tmp_path, f"/sys/kernel/irq/{IRQ}/per_cpu_count", "11,13,17\n")
    source = Sysroot(str(tmp_path))
    assert irq_counts.counts(source, IRQ) == {0: 11, 2: 13, 5: 17}
    put(tmp_path, f"/sys/kernel/irq/{IRQ}/per_cpu_count", "11,13\n")
    assert irq_counts.counts(source, IRQ) == {0: IRQ * 1_000 + 3, 1: IRQ * 1_000 + 13}


def test_nobody_tells(tmp_path: Path) -> None:
    source = Sysroot(str(guest(tmp_path)))
    assert irq_counts.counts(source, 9_999) is None
    assert not irq_counts.has_handler(source, 9_999)
    assert irq_counts.counts(Sysroot("/nonexistent"), IRQ) is None


def test_a_line_with_two_handlers_has_one(tmp_path: Path) -> None:
    source = Sysroot(str(guest(tmp_path, wiring=Wiring.LEGACY_LINE)))
    assert irq_counts.has_handler(source, 11)


def test_growth_is_of_cpus_that_both_tell_of() -> None:
    before = {0: 5, 1: 2**32 - 3, 2: 70}
    assert irq_counts.growth(before, {0: 5, 1: 4, 3: 900}) == {1: 7}


def test_parted() -> None:
    assert irq_counts.parted({0: 2, 1: 30, 4: 500}, CpuSet.of([1, 2])) == (30, 502)

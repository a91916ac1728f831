"""What may be written at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.apply import values
from tuneagent.model.cpuset import MAX_CPUS, CpuSet
from tuneagent.model.errors import ParseError

CPUS = st.sets(st.integers(0, MAX_CPUS - 1), max_size=40).map(CpuSet.of)


@given(CPUS)
def test_all_that_the_kernel_prints_may_be_written(cpus: CpuSet) -> None:
    assert values.cpu_mask(cpus.mask()) == cpus
    if cpus:
        assert values.cpu_list(str(cpus)) == cpus


def test_the_longest_of_each() -> None:
    every_second = CpuSet.of(range(0, MAX_CPUS, 2))
    assert values.cpu_list(str(every_second)) == every_second
    assert values.cpu_mask(every_second.mask()) == every_second


@given(st.text(alphabet="0123456789abcfxN,-:/ \n", max_size=30))
def test_what_is_taken_has_digits_and_their_signs_only(text: str) -> None:
    for parse, letters in ((values.cpu_list, "0123456789,-"), (values.cpu_mask, "0123456789abcdef,")):
        try:
            parse(text)
        except ParseError:
            continue
        assert text
        assert set(text) <= set(letters)


@pytest.mark.parametrize(("count", "size"), [(0, 0), (1, 1), (2, 2), (3, 4), (4096, 4096), (4097, 8192)])
def test_tables(count: int, size: int) -> None:
    assert values.power_of_two(count) == size

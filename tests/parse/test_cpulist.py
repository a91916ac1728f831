from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.cpuset import MAX_CPUS, CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse import cpulist

CPU_SETS = st.frozensets(st.integers(0, MAX_CPUS - 1), max_size=200).map(CpuSet.of)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0\n", [0]),
        ("0-3,8", [0, 1, 2, 3, 8]),
        ("0-1,4-5,8-9", [0, 1, 4, 5, 8, 9]),
        ("16,0,24,8", [0, 8, 16, 24]),
        ("0-15:2/8", [0, 1, 8, 9]),
        ("3-12:1/4", [3, 7, 11]),
        ("0-9:3/100", [0, 1, 2]),
        ("0-9:0/2", []),
        ("0-31:2/8,30-31", [0, 1, 8, 9, 16, 17, 24, 25, 30, 31]),
        (" 0-1 ,\t4 , 6\n", [0, 1, 4, 6]),
        (",,2,,", [2]),
        ("007", [7]),
        ("", []),
        (" \n", []),
        ("8191", [8191]),
    ],
)
def test_reads_a_list(text: str, cpus: list[int]) -> None:
    assert list(cpulist.parse(text)) == cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("2-N", [2, 3, 4, 5]), ("N", [5]), ("all", [0, 1, 2, 3, 4, 5]), ("ALL:1/3", [0, 3]), ("0-N:1/2", [0, 2, 4])],
)
def test_reads_the_words_of_boot_options(text: str, cpus: list[int]) -> None:
    assert list(cpulist.parse(text, last_cpu=5)) == cpus


@pytest.mark.parametrize(
    "text",
    [
        "3-1", "-1", "1-", "0-3:2", "0-3:2/", "0-3:5/4", "0-3:1/0", "5:1/2", "8192", "0-8192", "f", "0x3", "1.5", "٣",
        "N", "all", "allx", "0--1", "0-3\x00", "\udc80", "9" * 30, "0-1:1/" + "9" * 30, "0," * 40_000,
    ],
)  # fmt: skip
def test_refuses_what_is_no_list(text: str) -> None:
    with pytest.raises(ParseError):
        cpulist.parse(text)


@given(CPU_SETS)
def test_gives_back_what_the_kernel_would_print(cpus: CpuSet) -> None:
    assert cpulist.parse(str(cpus)) == cpus


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 40), st.integers(1, 40))
def test_strides_are_those_of_the_kernel(first: int, length: int, used: int, group: int) -> None:
    used = min(used, group)
    expected = [cpu for cpu in range(first, first + length + 1) if (cpu - first) % group < used]
    assert list(cpulist.parse(f"{first}-{first + length}:{used}/{group}")) == expected

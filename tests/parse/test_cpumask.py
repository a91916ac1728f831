from __future__ import annotations

import pytest
from hypothesis import given

from tests.parse.test_cpulist import CPU_SETS
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse import cpumask


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("f8\n", [3, 4, 5, 6, 7]),
        ("F8", [3, 4, 5, 6, 7]),
        ("0xf8", [3, 4, 5, 6, 7]),
        ("00000000,00000005", [0, 2]),
        ("1,00000000", [32]),
        ("1,0", [32]),
        ("3,00000001,00000000", [32, 64, 65]),
        ("0000000000000001,0000000000000002", [1, 64]),
        ("10000000000000000", [64]),
        ("000", []),
    ],
)
def test_reads_a_mask(text: str, cpus: list[int]) -> None:
    assert list(cpumask.parse(text)) == cpus


def test_masks_of_different_width_are_the_same_set() -> None:
    assert cpumask.parse("00000000,0000000f") == cpumask.parse("f")


@pytest.mark.parametrize(
    "text", ["0-3", "f,", ",f", "f,,f", "g", "-1", "1_0", "0x", "f f", "٣", "123456789,1", "1" + "0" * 2048, "0" * 9999]
)
def test_refuses_what_is_no_mask(text: str) -> None:
    with pytest.raises(ParseError):
        cpumask.parse(text)


def test_no_digits_are_empty_not_the_empty_set() -> None:
    with pytest.raises(ParseError) as caught:
        cpumask.parse("\n")
    assert caught.value.reason is Reason.EMPTY


@given(CPU_SETS)
def test_gives_back_what_the_kernel_would_print(cpus: CpuSet) -> None:
    assert cpumask.parse(cpus.mask()) == cpus

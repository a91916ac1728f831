from __future__ import annotations

import pytest

from tuneagent.model.counters import CpuTime
from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse.stat import parse

TEXT = "cpu  99 98 97 96 95 94 93 92 91 90\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu3 11 12 13 14 15 16 17 18 19 20\nintr 5 6\n"


def test_reads_the_rows_of_the_cpus_by_their_ids() -> None:
    assert parse(TEXT).rows == (
        CpuTime(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        CpuTime(3, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20),
    )


@pytest.mark.parametrize("columns", range(4, 10))
def test_a_column_that_the_kernel_lacks_is_not_known(columns: int) -> None:
    (row,) = parse("cpu7 " + " ".join(str(number) for number in range(1, columns + 1))).rows
    values = (row.user, row.nice, row.system, row.idle, row.iowait, row.irq, row.softirq, row.steal, row.guest)
    assert values == (*range(1, columns + 1), *[None] * (9 - columns))
    assert row.guest_nice is None


def test_columns_of_later_kernels_are_passed_over() -> None:
    assert parse("cpu7 1 2 3 4 5 6 7 8 9 10 later\n").rows[0].guest_nice == 10


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("cpu0 1 2 3\n", 1),
        ("cpu  1 2 3 4\ncpu0 1 2 x 4\n", 2),
        ("cpu0 1 2 3 -4\n", 1),
        ("cpu0 1 2 3 4\ncpu0 1 2 3 4\n", 2),
        ("cpu8192 1 2 3 4\n", 1),
        ("cpu 1 2 3 4\nintr 1\n", None),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int | None) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.line == line


def test_nothing_is_empty() -> None:
    with pytest.raises(ParseError) as caught:
        parse("\n")
    assert caught.value.reason is Reason.EMPTY

from __future__ import annotations

import pytest

from tuneagent.model.counters import SoftnetRow
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse.softnet_stat import assign, parse

WORDS = ["0000a1b2", "00000002", "00000003", "00000004", "00000005", "00000006", "00000007", "00000008", "00000009",
         "0000000A", "0000000b", "0000000c", "00000005", "0000000e", "0000000f"]  # fmt: skip


def line(columns: int, cpu: int = 5, processed: int = 0xA1B2) -> str:
    words = [f"{processed:08x}", *WORDS[1:]]
    words[12] = f"{cpu:08x}"
    return " ".join(words[:columns])


def test_each_column_is_what_the_kernel_means_by_it() -> None:
    softnet = parse(line(15) + "\n")
    assert softnet.columns == 15
    assert softnet.rows == (SoftnetRow(5, 0xA1B2, 2, 3, 10, 11, 12, 14, 15),)


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (9, SoftnetRow(None, 0xA1B2, 2, 3)),
        (10, SoftnetRow(None, 0xA1B2, 2, 3, 10)),
        (11, SoftnetRow(None, 0xA1B2, 2, 3, 10, 11)),
        (13, SoftnetRow(5, 0xA1B2, 2, 3, 10, 11, 12)),
    ],
)
def test_a_column_that_is_not_printed_is_not_known(columns: int, row: SoftnetRow) -> None:
    assert parse(line(columns)).rows == (row,)


def test_columns_of_later_kernels_are_passed_over() -> None:
    softnet = parse(f"{line(15)} 00000063")
    assert (softnet.columns, softnet.rows[0].process_qlen) == (16, 15)


def test_blank_lines_and_a_missing_newline_are_nothing() -> None:
    assert [row.cpu for row in parse(f"{line(15, cpu=0)}\n\n{line(15, cpu=4)}").rows] == [0, 4]


@pytest.mark.parametrize("cpus", [(2, 2), (0, 8192)])
def test_ids_that_cannot_be_are_dropped_and_the_rows_are_kept(cpus: tuple[int, int]) -> None:
    softnet = parse("\n".join(line(13, cpu, processed=100 + index) for index, cpu in enumerate(cpus)))
    assert [(row.cpu, row.processed) for row in softnet.rows] == [(None, 100), (None, 101)]
    assert softnet.warning


@pytest.mark.parametrize(
    ("text", "number", "message"),
    [
        (line(8), 1, "8 columns"),
        (f"{line(13)}\n{line(11)}", 2, "11 columns where the rows before have 13"),
        (line(9).replace("00000003", "0000000g"), 1, "0000000g"),
        (line(9).replace("00000003", "100000003"), 1, "32 bits"),
        (line(9).replace("00000003", "-0000003"), 1, "-0000003"),
        (" ".join(["1"] * 65), 1, "65 columns"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, number: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)
    assert caught.value.line == number


def test_rows_without_id_are_those_of_the_online_cpus() -> None:
    softnet = assign(parse(f"{line(11, processed=7)}\n{line(11, processed=8)}"), CpuSet.of([0, 3]))
    assert [(row.cpu, row.processed) for row in softnet.rows] == [(0, 7), (3, 8)]
    assert softnet.warning is None


def test_another_number_of_rows_is_given_to_no_cpu() -> None:
    softnet = assign(parse(line(11)), CpuSet.of([0, 3]))
    assert softnet.rows[0].cpu is None
    assert softnet.warning == "1 rows for 2 online CPUs: no row can be given to a CPU"


def test_printed_ids_are_never_replaced() -> None:
    softnet = parse(line(13, cpu=9))
    assert assign(softnet, CpuSet.of([0])) is softnet

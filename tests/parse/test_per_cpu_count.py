"""Counts of one interrupt by possible CPU."""

from __future__ import annotations

import pytest

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse import per_cpu_count


def test_columns_are_possible_cpus() -> None:
    assert per_cpu_count.parse("17,4294967295,3\n", CpuSet.of([0, 4, 8])) == {0: 17, 4: 4294967295, 8: 3}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "17\n",
        "17,3\n",
        "17,3,5,9\n",
        "17,,3\n",
        "17,-3,5\n",
        "17,3,5\n1,1,1\n",
        "1,2,99999999999999999999999",
    ],
)
def test_anything_else(text: str) -> None:
    with pytest.raises(ParseError):
        per_cpu_count.parse(text, CpuSet.of([0, 4, 8]))

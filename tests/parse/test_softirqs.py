from __future__ import annotations

import pytest

from tuneagent.model.counters import Softirqs
from tuneagent.model.errors import ParseError
from tuneagent.parse.softirqs import parse

HEAD = "                    CPU0       CPU2\n"


def test_reads_counts_by_name_in_the_order_of_the_cpus() -> None:
    text = f"{HEAD}          HI:          1          2\n\n      NET_RX: 4294967295          4\n"
    assert parse(text) == Softirqs((0, 2), {"HI": (1, 2), "NET_RX": (2**32 - 1, 4)})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("HI: 1 2\n", 1),
        ("CPU0 CPU0\n", 1),
        ("CPU0 CPU9999\n", 1),
        (f"{HEAD}HI: 1\n", 2),
        (f"{HEAD}HI: 1 2 3\n", 2),
        (f"{HEAD}HI: 1 -2\n", 2),
        (f"{HEAD}HI: 1 4294967296\n", 2),
        (f"{HEAD}HI 1 2\n", 2),
        (f"{HEAD}: 1 2\n", 2),
        (f"{HEAD}HI: 1 2\nHI: 3 4\n", 3),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.line == line

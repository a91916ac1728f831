from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.snmp import parse

TCP = "Tcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 12\n"
UDP = "Udp: InDatagrams RcvbufErrors\nUdp: 18446744073709551615 3\n"


def test_reads_counters_by_protocol_and_name() -> None:
    assert parse(TCP + UDP).counters == {
        "Tcp": {"RtoAlgorithm": 1, "MaxConn": -1, "RetransSegs": 12},
        "Udp": {"InDatagrams": 2**64 - 1, "RcvbufErrors": 3},
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Tcp: A B\nTcp: 1\n", 2),
        ("Tcp: A\nTcp: 1 2\n", 2),
        ("Tcp: A\nUdp: 1\n", 2),
        ("Tcp: A\n", 1),
        (f"{TCP}Udp: A\n", 3),
        ("Tcp: A\nTcp: x\n", 2),
        ("Tcp: A\nTcp: +1\n", 2),
        (f"Tcp: A\nTcp: {'9' * 30}\n", 2),
        ("Tcp: A A\nTcp: 1 2\n", 1),
        (TCP + TCP, 4),
        ("Tcp A\nTcp 1\n", 1),
        (": A\n: 1\n", 1),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.line == line

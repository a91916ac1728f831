"""A format file as kernels write it, and what is refused."""

from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.tracepoint_format import Field, parse, require

TRANSMIT = """name: net_dev_start_xmit
ID: 2307
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;
\tfield:const void * skbaddr;\toffset:16;\tsize:8;\tsigned:0;
\tfield:char comm[16];\toffset:24;\tsize:16;\tsigned:1;

print fmt: "dev=%s", __get_str(name)
"""
MANY = "".join(f"field:int irq{number}; offset:8; size:4; signed:1;\n" for number in range(129))


def test_fields_by_name() -> None:
    found = parse(TRANSMIT)
    assert (found.name, found.id) == ("net_dev_start_xmit", 2307)
    assert found.fields == {
        "common_type": Field(0, 2, signed=False, string=False),
        "common_pid": Field(4, 4, signed=True, string=False),
        "name": Field(8, 4, signed=False, string=True),
        "skbaddr": Field(16, 8, signed=False, string=False),
        "comm": Field(24, 16, signed=True, string=False),
    }


def test_a_kernel_that_tells_no_sign() -> None:
    found = parse("name: a\nID: 3\nformat:\n\tfield:int irq;\toffset:8;\tsize:4;\n")
    assert found.fields["irq"] == Field(8, 4, signed=False, string=False)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"lock_addr": (8,)}, "'net_dev_start_xmit' has no field lock_addr"),
        ({"skbaddr": (4,)}, "skbaddr of 'net_dev_start_xmit' has 8 bytes, not 4 bytes"),
        ({"name": (4, 8)}, "name of 'net_dev_start_xmit' has a string, not 4 bytes or 8 bytes"),
        ({"common_pid": (0,)}, "common_pid of 'net_dev_start_xmit' has 4 bytes, not a string"),
    ],
)
def test_what_differs_is_named(wanted: dict[str, tuple[int, ...]], words: str) -> None:
    with pytest.raises(ParseError) as caught:
        require(parse(TRANSMIT), wanted)
    assert str(caught.value) == words


def test_what_is_as_wanted() -> None:
    require(parse(TRANSMIT), {"name": (0,), "skbaddr": (4, 8)})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("name: a\nID: 3\n", None),
        ("ID: 3\nfield:int irq; offset:8; size:4; signed:1;\n", None),
        ("name: a\nfield:int irq; offset:8; size:4; signed:1;\n", None),
        ("name: a\nID: 65536\n", 2),
        ("name: a\nID: -3\n", 2),
        ("name: a\nID: 3\nfield:int irq; offset:8;\n", 3),
        ("name: a\nID: 3\nfield:int irq; offset:99999; size:4; signed:1;\n", 3),
        ("name: a\nID: 3\nfield:__data_loc char[] name; offset:8; size:8; signed:0;\n", 3),
        (f"name: a\nID: 3\n{MANY}", 131),
        ("name: a\x1b\nID: 3\n", 1),
        ("x" * 70_000, None),
    ],
)
def test_what_is_no_format(text: str, line: int | None) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.line == line

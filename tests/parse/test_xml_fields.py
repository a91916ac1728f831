from __future__ import annotations

import pytest

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse.xml_fields import MAX_WORD, Fields, id_set
from tuneagent.parse.xml_text import root


def test_reads_each_kind() -> None:
    faults: list[ParseError] = []
    fields = Fields(root("<d w='a b' n='7' on='on' down='down' c='0-3,8'/>"), "<d>", faults)
    assert fields.word("w") == "a b"
    assert fields.natural("n") == 7
    assert fields.switch("on") is True
    assert fields.switch("down") is False
    assert fields.ids("c") == CpuSet.of([0, 1, 2, 3, 8])
    assert not faults


def test_what_is_not_there_is_none_and_no_fault() -> None:
    faults: list[ParseError] = []
    for fields in (Fields(None, "<d>", faults), Fields(root("<d/>"), "<d>", faults)):
        assert [fields.word("a"), fields.natural("a"), fields.switch("a"), fields.ids("a")] == [None] * 4
    assert not faults


def test_what_is_wrong_is_none_and_a_fault_with_its_place() -> None:
    faults: list[ParseError] = []
    text = f"<d w='' u='a&#x202e;' l='{'x' * (MAX_WORD + 1)}' n='-1' h='65536' s='maybe' c='x' e=''/>"
    fields = Fields(root(text), "disk 2: <d>", faults)
    assert [fields.word(name) for name in "wul"] == [None] * 3
    assert [fields.natural("n"), fields.natural("h", 65_535)] == [None] * 2
    assert [fields.switch("s"), fields.ids("c"), fields.ids("e")] == [None] * 3
    assert [fault.detail for fault in faults] == [
        "disk 2: <d> w: nothing in it",
        "disk 2: <d> u: holds the unprintable character '\\u202e'",
        "disk 2: <d> l: more than 1024 characters",
        "disk 2: <d> n: '-1' is not a number",
        "disk 2: <d> h: 65536 is above 65535",
        "disk 2: <d> s: 'maybe' is neither on nor off",
        "disk 2: <d> c: 'x' is not a number",
        "disk 2: <d> e: '' names nothing",
    ]


@pytest.mark.parametrize(
    ("text", "ids"),
    [("3", [3]), ("0-3,^2", [0, 1, 3]), ("0-7, ^1-2,1", [0, 1, 3, 4, 5, 6, 7]), ("^2,2", [2]), (" 5 , 7", [5, 7])],
)
def test_a_set_may_take_back_what_it_named(text: str, ids: list[int]) -> None:
    assert id_set(text) == CpuSet.of(ids)


@pytest.mark.parametrize("text", ["", ",", "2,^2", "^", "1,^x", "9000", "1" * 70_000, "^1," * 30_000])
def test_a_set_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        id_set(text)

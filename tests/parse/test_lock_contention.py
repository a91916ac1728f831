from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.contention import ContentionCounts, SpinVisibility
from tuneagent.model.errors import ParseError
from tuneagent.parse.lock_contention import parse

COUNTED: dict[str, Any] = {"opened_at_ns": 77, "per_cpu": {"10": 5, "2": 900}, "spin": "from-third", "later": [1]}


def test_reads_the_counts_by_cpu() -> None:
    assert parse(COUNTED) == ContentionCounts({2: 900, 10: 5}, 77, None, SpinVisibility.FROM_THIRD)
    assert list(parse(COUNTED).per_cpu) == [2, 10]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"per_cpu": None}, "$.per_cpu:"),
        ({"per_cpu": {}}, "$.per_cpu:"),
        ({"per_cpu": {"x": 1}}, "$.per_cpu.x:"),
        ({"per_cpu": {"8192": 1}}, "$.per_cpu['8192']:"),
        ({"per_cpu": {"1": 1, "01": 2}}, "$.per_cpu['01']:"),
        ({"per_cpu": {"1": 1.0}}, "$.per_cpu['1']:"),
        ({"per_cpu": {"1": 2**64}}, "$.per_cpu['1']:"),
        ({"opened_at_ns": True}, "$.opened_at_ns:"),
        ({"opened_at_ns": -1}, "$.opened_at_ns:"),
        ({"spin": None}, "$.spin:"),
        ({"spin": "some"}, "$.spin: 'some'"),
    ],
)
def test_a_fault_is_named_with_its_path(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(COUNTED | changes)
    assert str(caught.value).startswith(path)


def test_no_object_is_no_count() -> None:
    with pytest.raises(ParseError, match="an array, not an object"):
        parse([])

from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.hypervisor import KvmCounters
from tuneagent.parse.kvm_statistics import parse


def test_reads_counters_by_process_and_vcpu() -> None:
    value = {
        "4242": {"vcpus": {"2": {"exits": 30, "io_exits": 4}, "0": {"exits": 10, "io_exits": 2, "pf_taken": 99}}},
        "17": {"vcpus": {}, "later": 1},
    }
    vcpus = {0: {"exits": 10, "io_exits": 2}, 2: {"exits": 30, "io_exits": 4}}
    assert parse(value) == (
        KvmCounters(17, None, {}, {}, None),
        KvmCounters(4242, None, {"exits": 40, "io_exits": 6}, vcpus, None),
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([], "$:"),
        ({"a": {}}, "$.a:"),
        ({"5000000": {}}, "$['5000000']:"),
        ({"7": {}}, "$['7'].vcpus:"),
        ({"7": {"vcpus": {"-1": {}}}}, "$['7'].vcpus['-1']:"),
        ({"7": {"vcpus": {"8192": {}}}}, "$['7'].vcpus['8192']:"),
        ({"7": {"vcpus": {"1": {"exits": 1.0}}}}, "$['7'].vcpus['1']: exits:"),
        ({"7": {"vcpus": {"1": {"exits": 2**64}}}}, "$['7'].vcpus['1']: exits:"),
    ],
)
def test_a_fault_is_named_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(value)
    assert str(caught.value).startswith(path)

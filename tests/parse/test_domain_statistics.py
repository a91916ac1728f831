from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.hypervisor import KvmCounters
from tuneagent.parse.domain_statistics import parse

UUID = "4dea22b3-1d52-d8f3-2516-782e98ab3fa0"


def test_reads_counters_by_domain_and_vcpu_over_holes() -> None:
    fields = {
        "vcpu.current": 2,
        "vcpu.3.exits.sum": 700,
        "vcpu.0.exits.sum": 50,
        "vcpu.0.halt_exits.sum": 6,
        "vcpu.3.halt_exits.sum": 8,
        "vcpu.3.halted": "no",
        "vcpu.3.exits.max": 1,
        "vcpu.99999.exits.sum": 1,
        "vcpu.3.pf_taken.sum": 11,
        "vm.remote_tlb_flush.sum": 12,
    }
    vcpus = {0: {"exits": 50, "halt_exits": 6}, 3: {"exits": 700, "halt_exits": 8}}
    assert parse({UUID.upper(): fields}) == (KvmCounters(None, UUID, {"exits": 750, "halt_exits": 14}, vcpus, None),)


def test_domains_with_other_vcpus_are_each_read_by_their_own_fields() -> None:
    other = "5" + UUID[1:]
    first, second = parse({UUID: {"vcpu.0.exits.sum": 3}, other: {"vcpu.1.exits.sum": 4, "vcpu.1.io_exits.sum": 5}})
    assert (first.vcpus, second.vcpus) == ({0: {"exits": 3}}, {1: {"exits": 4, "io_exits": 5}})


def test_a_domain_that_tells_nothing_is_kept_without_numbers() -> None:
    assert parse({UUID: {}}) == (KvmCounters(None, UUID, {}, {}, None),)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (None, "$:"),
        ({"a": []}, "$.a:"),
        ({"a": {"vcpu.0.exits.sum": "5"}}, "$.a: vCPU 0: exits:"),
        ({"a": {"vcpu.0.exits.sum": -5}}, "$.a: vCPU 0: exits:"),
    ],
)
def test_a_fault_is_named_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(value)
    assert str(caught.value).startswith(path)

from __future__ import annotations

from tuneagent.model.hypervisor import KvmCounters
from tuneagent.parse.kvm_counters import gathered, is_wanted, with_exits


def test_a_total_is_there_only_where_every_vcpu_tells_its_part() -> None:
    found = gathered(7, None, {3: {"exits": 40, "io_exits": 5}, 0: {"exits": 2, "hypercalls": 9}})
    assert found.totals == {"exits": 42}
    assert list(found.vcpus) == [0, 3]


def test_a_kernel_without_exits_gets_the_sum_of_the_family() -> None:
    vcpus = {0: {"exit_null": 3, "exit_instruction": 4, "io_exits": 100}, 1: {"exit_null": 5, "exit_instruction": 6}}
    found = gathered(None, "u", vcpus)
    assert found.exits_are_a_sum
    assert found.totals == {"exits": 18, "exit_null": 8, "exit_instruction": 10}
    assert found.vcpus[0] == {"exits": 7, "exit_null": 3, "exit_instruction": 4, "io_exits": 100}


def test_the_kernels_own_exits_go_before_the_family() -> None:
    counters = {"exits": 50, "exit_null": 3}
    assert with_exits(counters) == counters
    assert gathered(1, None, {0: counters}) == KvmCounters(1, None, counters, {0: counters}, None)


def test_without_vcpus_nothing_is_told() -> None:
    assert gathered(1, None, {}) == KvmCounters(1, None, {}, {}, None)


def test_names_that_are_read() -> None:
    assert [name for name in ("exits", "exit_null", "halt_wait_ns", "pf_taken", "exit") if is_wanted(name)] == [
        "exits",
        "exit_null",
        "halt_wait_ns",
    ]


def test_what_powerpc_calls_exits_is_no_sum_of_a_family() -> None:
    found = gathered(7, None, {0: {"sum_exits": 40, "mmio_exits": 5}, 1: {"sum_exits": 2, "mmio_exits": 6}})
    assert (found.totals, found.exits_are_a_sum) == ({"exits": 42, "mmio_exits": 11}, False)
    assert found.vcpus[1] == {"exits": 2, "mmio_exits": 6}

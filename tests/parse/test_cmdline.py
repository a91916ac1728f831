from __future__ import annotations

import pytest

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse.cmdline import BootOptions, parse

NONE = CpuSet()


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("ro quiet\n", BootOptions(NONE, NONE)),
        ("ro isolcpus=2-3 nohz_full=4,6\n", BootOptions(CpuSet.of([2, 3]), CpuSet.of([4, 6]))),
        ("isolcpus=managed_irq,domain,2-3", BootOptions(CpuSet.of([2, 3]), NONE)),
        ("isolcpus=nohz,1", BootOptions(CpuSet.of([1]), NONE)),
        ("isolcpus=0-15:2/8", BootOptions(CpuSet.of([0, 1, 8, 9]), NONE)),
        ('isolcpus="2,3" x="a isolcpus=9"', BootOptions(CpuSet.of([2, 3]), NONE)),
        ('"nohz_full=2 3"', BootOptions(NONE, CpuSet.of([2, 3]))),
        ("isolcpus=1 isolcpus=2", BootOptions(CpuSet.of([1]), NONE)),
        ("ro -- isolcpus=2", BootOptions(NONE, NONE)),
        ("xisolcpus=2 nohz_full", BootOptions(NONE, NONE)),
        ('isolcpus=5 x="never closed', BootOptions(CpuSet.of([5]), NONE)),
    ],
)
def test_reads_the_options_that_take_cpus_away(text: str, options: BootOptions) -> None:
    assert parse(text) == options


def test_the_last_cpu_can_be_named_where_it_is_known() -> None:
    assert parse("nohz_full=2-N", last_cpu=3).nohz_full == CpuSet.of([2, 3])
    assert parse("isolcpus=managed_irq,all", last_cpu=2).isolcpus == CpuSet.of([0, 1, 2])
    (fault,) = parse("nohz_full=2-N").faults
    assert "nohz_full=" in fault.detail


@pytest.mark.parametrize("wrong", ["isolcpus=bogus,2", "isolcpus=domain,9999", "isolcpus=3-1"])
def test_a_list_that_is_none_leaves_the_other_option(wrong: str) -> None:
    options = parse(f"ro {wrong} nohz_full=2\n")
    assert (options.isolcpus, options.nohz_full) == (NONE, CpuSet.of([2]))
    assert [(fault.line, fault.detail.split(":")[0]) for fault in options.faults] == [(1, "isolcpus=")]


@pytest.mark.parametrize("text", ["", "\n", "isolcpus=2\x00"])
def test_refuses_what_is_no_command_line(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)

from __future__ import annotations

import pytest

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse.cmdline import BootOptions, parse

NONE = CpuSet()


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("ro quiet\n", BootOptions(NONE, (), NONE)),
        ("ro isolcpus=2-3 nohz_full=4,6\n", BootOptions(CpuSet.of([2, 3]), ("domain",), CpuSet.of([4, 6]))),
        ("isolcpus=managed_irq,domain,2-3", BootOptions(CpuSet.of([2, 3]), ("managed_irq", "domain"), NONE)),
        ("isolcpus=nohz,1", BootOptions(CpuSet.of([1]), ("nohz",), NONE)),
        ("isolcpus=0-15:2/8", BootOptions(CpuSet.of([0, 1, 8, 9]), ("domain",), NONE)),
        ('isolcpus="2,3" x="a isolcpus=9"', BootOptions(CpuSet.of([2, 3]), ("domain",), NONE)),
        ('"nohz_full=2 3"', BootOptions(NONE, (), CpuSet.of([2, 3]))),
        ("isolcpus=1 isolcpus=2", BootOptions(CpuSet.of([1]), ("domain",), NONE)),
        ("ro -- isolcpus=2", BootOptions(NONE, (), NONE)),
        ("xisolcpus=2 nohz_full", BootOptions(NONE, (), NONE)),
        ('isolcpus=5 x="never closed', BootOptions(CpuSet.of([5]), ("domain",), NONE)),
    ],
)
def test_reads_the_options_that_take_cpus_away(text: str, options: BootOptions) -> None:
    assert parse(text) == options


def test_the_last_cpu_can_be_named_where_it_is_known() -> None:
    assert parse("nohz_full=2-N", last_cpu=3).nohz_full == CpuSet.of([2, 3])
    with pytest.raises(ParseError, match="nohz_full="):
        parse("nohz_full=2-N")


@pytest.mark.parametrize("text", ["", "isolcpus=bogus,2", "isolcpus=9999", "nohz_full=3-1"])
def test_refuses_what_is_no_list(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)

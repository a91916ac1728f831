from __future__ import annotations

import pytest

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse.process_status import parse, thread_group


def test_reads_the_cpus_allowed() -> None:
    text = "Name:\tCpus_allowed_list:\nCpus_allowed:\tff\nCpus_allowed_list:\t2-3,5\nMems_allowed_list:\t0\n"
    assert parse(text) == CpuSet.of([2, 3, 5])


def test_a_list_that_is_none_is_named_with_its_line() -> None:
    with pytest.raises(ParseError) as caught:
        parse("Name:\tx\nCpus_allowed_list:\tx\n")
    assert caught.value.line == 2


@pytest.mark.parametrize("text", ["", "Name:\tx\n"])
def test_refuses_a_text_without(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_reads_the_process_of_a_thread() -> None:
    assert thread_group("Name:\tCPU 0/KVM\nTgid:\t4242\nNgid:\t3\nPid:\t4244\n") == 4242


@pytest.mark.parametrize("text", ["", "Ngid:\t3\n", "Tgid:\tx\n", "Tgid:\t-1\n"])
def test_refuses_a_text_without_a_process(text: str) -> None:
    with pytest.raises(ParseError):
        thread_group(text)

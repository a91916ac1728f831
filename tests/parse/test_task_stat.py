from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse.task_stat import TaskStat, parse

BEHIND = " ".join(str(number) for number in range(4, 53))
"""Fields 4 to 52, each its own number."""


@pytest.mark.parametrize("name", ["CPU 0/KVM", "vhost-4242", "a) S 2 (b", ")", "", "worker (x)"])
def test_a_name_may_hold_blanks_and_brackets(name: str) -> None:
    assert parse(f"4244 ({name}) S {BEHIND}\n") == TaskStat(name, 4, 39, 22)


def test_a_line_that_ends_early_tells_no_cpu() -> None:
    assert parse("4250 (vhost-4242) S 2 0 0 0 -1 2129984") == TaskStat("vhost-4242", 2, None)


@pytest.mark.parametrize(
    "text", ["x", "4250 vhost S 2", "4250 (a S 2 3", "4250 (a) S", "-1 (a) S 2", "4250 (a) S -2 3"]
)
def test_refuses_what_is_no_line_of_a_task(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_a_line_that_ends_before_the_processor_still_tells_when_it_began() -> None:
    assert parse(f"4250 (a) S {' '.join(BEHIND.split()[:19])}") == TaskStat("a", 4, None, 22)


def test_refuses_a_cpu_that_is_none() -> None:
    with pytest.raises(ParseError):
        parse(f"1 (a) S {BEHIND.replace(' 39 ', ' 99999999 ')}")


def test_an_empty_text_is_empty() -> None:
    with pytest.raises(ParseError) as caught:
        parse("\n")
    assert caught.value.reason is Reason.EMPTY

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse.perf_kind import PerfText, recognise

LINES = [
    ("swapper 0 [000] 1.000000: cycles: ffffffff81000010 f+0x1 ([kernel.kallsyms])", PerfText.SCRIPT),
    ("# Samples: 1K of event 'cycles'", PerfText.REPORT),
    ("# Overhead,Symbol", PerfText.REPORT),
    ("    19.59%  [kernel]  [k] .ip6_pol_route", PerfText.REPORT),
    ("    43.26%     0.25%  a  [kernel]  [k] f", PerfText.REPORT),
    ("# Event 'cycles'", PerfText.DIFF),
    ("  3.23%  +4.32%  [kernel]  [k] __dev_queue_xmit", PerfText.DIFF),
    ("  +3.43%  [kernel]  [k] dst_release", PerfText.DIFF),
    (" contended   total wait     max wait     avg wait         type   caller", PerfText.LOCKS),
    ("# output: contended, total wait, max wait, avg wait, type, caller", PerfText.LOCKS),
]


@pytest.mark.parametrize(("line", "kind"), LINES)
def test_one_line_tells_the_text(line: str, kind: PerfText) -> None:
    assert recognise(f"Warning: something\n\n# comment\n{line}\n") is kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PERFILE2h\x00\x00", "perf record"),
        ("\n# comment\nhello\n", "line 2: no text of perf"),
        ("hello\n" * 500 + LINES[0][0], "no text of perf"),
    ],
)
def test_another_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        recognise(text)


def test_nothing_is_empty() -> None:
    with pytest.raises(ParseError) as caught:
        recognise("\n")
    assert caught.value.reason is Reason.EMPTY


@given(
    st.lists(st.sampled_from([*(line for line, _ in LINES), "\x00", "9" * 400, "[k] ", "1.5%"])), st.sampled_from("\n ")
)
def test_whatever_is_said_is_a_kind_or_a_fault(pieces: list[str], between: str) -> None:
    with suppress(ParseError):
        assert recognise(between.join(pieces))

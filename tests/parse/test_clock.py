from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.clock import Clock
from tuneagent.model.errors import ParseError
from tuneagent.parse.clock import parse

VALUE = {"monotonic_ns": 5, "boottime_ns": 6, "realtime_ns": 7}


def test_reads_three_clocks() -> None:
    assert parse(VALUE) == Clock(5, 6, 7)


@pytest.mark.parametrize("value", [None, [], {}, VALUE | {"boottime_ns": None}, VALUE | {"boottime_ns": 6.0}])
def test_refuses_what_is_no_clock(value: Any) -> None:
    with pytest.raises(ParseError):
        parse(value)

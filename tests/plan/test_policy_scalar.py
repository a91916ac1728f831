from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tuneagent.plan.policy_scalar import Trap, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-7", -7),
        ("20000", 20000),
        ("35.3", 35.3),
        ("0.5", 0.5),
        ("once", "once"),
        ("none", "none"),
        ("+29 %", "+29 %"),
        ("10 s", "10 s"),
        ("nod", "nod"),
        ("0x3 and more", "0x3 and more"),
        ("0-3", "0-3"),
    ],
)
def test_one_way_to_write_each_value(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *("on", "off", "yes", "no", "y", "n", "On", "OFF", "Yes", "NO", "Y", "N", "True", "FALSE", "Null"),
        *("010", "007", "08", "0o10", "-010", "0_7", "0x3", "0XFF", "0b11", "1:30", "190:20:30", "1_000", "1_0.5"),
        *(".inf", "-.INF", ".nan", "2011-05-04", "2011-5-4", "2011-05-04 10:00:00", "2011-05-04T10:00:00Z"),
        *("1e3", "1.5E-3", ".5", "5.", "+5", "+0.5", "00", "=", "1" * 16, "0." + "1" * 20, "1" * 50, "0x" + "f" * 50),
    ],
)
def test_what_two_readers_could_take_for_two_things_is_refused(text: str) -> None:
    assert isinstance(resolve(text), Trap)


@given(st.text(alphabet="0123456789+-._:xobaefinytrulsTON~=", max_size=60))
@example("0._")
@example("1_0.5_e+3")
@example("+1._0")
def test_what_is_accepted_is_what_yaml_itself_reads(text: str) -> None:
    # YAML 1.1's own implementation is the authority: where ours gives a value, its must be the same.
    value = resolve(text)
    if not isinstance(value, Trap):
        loader: Any = yaml.SafeLoader("")  # the stubs leave its methods untyped
        theirs = loader.construct_object(
            yaml.ScalarNode(loader.resolve(yaml.ScalarNode, text, (True, False)), text), deep=True
        )
        assert theirs == value
        assert type(theirs) is type(value)

from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.cpuinfo import parse


@pytest.mark.parametrize(
    ("text", "hypervisor"),
    [
        ("processor\t: 0\nflags\t\t: fpu hypervisor lm\n", True),
        ("processor\t: 0\nflags\t\t: fpu vmx lm\nvmx flags\t: hypervisor\n", False),
        ("processor\t: 0\nflags\t\t: fpu not_hypervisor\n", False),
        ("processor\t: 0\nFeatures\t: fp asimd\n", None),
    ],
)
def test_says_whether_a_hypervisor_is_below(text: str, hypervisor: bool | None) -> None:  # noqa: FBT001  # a result
    assert parse(text) is hypervisor


def test_nothing_is_an_error() -> None:
    with pytest.raises(ParseError):
        parse("")

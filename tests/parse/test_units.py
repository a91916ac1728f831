from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.units import UnitState, parse


def test_reads_states_by_unit() -> None:
    value = {
        "irqbalance.service": {"ActiveState": "active", "SubState": "running", "LoadState": "loaded", "Id": 5},
        "tuned.service": {},
    }
    assert parse(value) == {
        "irqbalance.service": UnitState("active", "running", "loaded"),
        "tuned.service": UnitState(None, None, None),
    }


@pytest.mark.parametrize(
    ("value", "path"),
    [([], "$:"), ({"a": 1}, "$.a:"), ({"a.service": {"ActiveState": True}}, "$['a.service'].ActiveState:")],
)
def test_a_fault_is_named_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(value)
    assert str(caught.value).startswith(path)

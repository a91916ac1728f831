from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

import pytest

from tests import make
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.identity import Role
from tuneagent.model.view import Growth
from tuneagent.model.virtio import Feature
from tuneagent.rates.kvm import VcpuRates
from tuneagent.report.jsonable import jsonable


@dataclass(frozen=True, slots=True)
class Noun:
    cpus: CpuSet
    role: Role
    inner: tuple[Any, ...] = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (2**64 - 1, 2**64 - 1),
        ("text", "text"),
        (1 / 3, 0.333333),
        (2.0, 2.0),
        (CpuSet.of([0, 1, 5]), "0-1,5"),
        (CpuSet(), ""),
        (Severity.WARNING, "warning"),
        (Role.BARE_METAL, "bare-metal"),
        (Feature.NET_MQ, 22),
        (frozenset({29, 5, 22}), [5, 22, 29]),
        ((1, (2, 3)), [1, [2, 3]]),
        ({0: CpuSet.of([1]), "a": None}, {"0": "1", "a": None}),
        (Growth((0, 3), (5, 6), (5, 8)), {"3": 2}),
        (Noun(CpuSet.of([3]), Role.GUEST, (1,)), {"cpus": "3", "role": "guest", "inner": [1]}),
    ],
)
def test_each_kind_of_value(value: Any, expected: Any) -> None:
    found = jsonable(value)

    assert found == expected
    assert type(found) is type(expected)
    json.dumps(found, allow_nan=False)


def test_what_has_no_form_is_an_error_and_not_a_guess() -> None:
    with pytest.raises(TypeError, match="bytes"):
        jsonable(b"x")
    with pytest.raises(TypeError, match="type"):
        jsonable(Noun)


def test_a_snapshot_has_its_fields_as_keys() -> None:
    snapshot = make.snapshot()

    assert list(jsonable(snapshot)) == [field.name for field in fields(snapshot)]


def test_rates_that_are_worked_out_when_asked_for_are_the_map_that_they_stand_for() -> None:
    rates = VcpuRates({3: {"exits": 10}}, {3: {"exits": 17}}, 2.0)
    assert jsonable(rates) == {"3": {"exits": 3.5}}

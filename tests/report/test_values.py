from __future__ import annotations

import pytest

from tuneagent.model.cpuset import CpuSet
from tuneagent.report.values import cpus, number, with_unit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0, "0"),
        (0.0, "0"),
        (1234567, "1,234,567"),
        (12345.6, "12,346"),
        (100.0, "100"),
        (99.994, "99.99"),
        (12.5, "12.5"),
        (2.0, "2"),
        (0.05, "0.05"),
        (0.0334, "0.0334"),
        (0.00001, "1.0e-05"),
        (-3.25, "-3.25"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12000.0, "1/s", "12,000/s"),
        (97, "%", "97 %"),
        (0.42, "", "0.42"),
        ("0-3", "", "0-3"),
        ("a\x1bb", "", "a\\x1bb"),
        (None, "1/s", "unknown"),
        (None, "", "unknown"),
        (0, "1/s", "0/s"),
    ],
)
def test_a_value_has_its_unit_and_an_unknown_has_none(value: float | str | None, unit: str, text: str) -> None:
    assert with_unit(value, unit) == text


def test_cpus() -> None:
    assert [cpus(CpuSet.of([0, 1, 2, 8])), cpus(CpuSet()), cpus(None)] == ["0-2,8", "none", "unknown"]

from __future__ import annotations

import pytest

from tuneagent.model.cpuset import CpuSet
from tuneagent.report.values import cpus, duration, number, plural, short, with_unit


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "?"),
        (0.0, "0"),
        (0.004, "<0.01"),
        (0.05, "0.05"),
        (4.25, "4.25"),
        (9.996, "10"),
        (42.34, "42.3"),
        (99.97, "100"),
        (970.4, "970"),
        (999.7, "1k"),
        (12_345.0, "12.3k"),
        (145_300.0, "145k"),
        (999_700.0, "1M"),
        (1_230_000.0, "1.2M"),
        (7.5e9, "7.5G"),
    ],
)
def test_a_short_number_has_at_most_five_characters(value: float | None, text: str) -> None:
    assert short(value) == text
    assert len(text) <= 5


def test_one_is_not_called_several() -> None:
    assert (plural(1, "vCPU"), plural(0, "vCPU"), plural(2000, "vCPU")) == ("1 vCPU", "0 vCPUs", "2,000 vCPUs")


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (None, "?"),
        (0, "0 ns"),
        (850, "850 ns"),
        (999, "999 ns"),
        (999.6, "1 µs"),
        (12_345, "12.35 µs"),
        (999_400, "999 µs"),
        (999_600, "1 ms"),
        (1_030_000, "1.03 ms"),
        (999_600_000, "1 s"),
        (4_000_000_000, "4 s"),
        (2**64 - 1, "18,446,744,074 s"),
    ],
)
def test_durations_carry_the_unit_that_fits(ns: float | None, shown: str) -> None:
    assert duration(ns) == shown

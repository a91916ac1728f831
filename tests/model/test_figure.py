from __future__ import annotations

import math

import pytest

from tuneagent.model.figure import figure


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5154.0, "5,154"),
        (148_444.58, "148,445"),
        (97.979, "97.98"),
        (28.4, "28.4"),
        (99.999, "100"),
        (0.12, "0.12"),
        (0.03342, "0.0334"),
        (-3.25, "-3.25"),
        (3, "3"),
        (2**64 - 1, "18,446,744,073,709,551,615"),
        (0.0, "0"),
        (4e-6, "4.0e-06"),
    ],
)
def test_numbers_keep_what_matters(value: float, text: str) -> None:
    assert figure(value) == text


def test_what_is_no_number_is_still_told() -> None:
    assert (figure(math.inf), figure(math.nan)) == ("inf", "nan")

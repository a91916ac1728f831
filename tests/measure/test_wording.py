from __future__ import annotations

import pytest

from tests.measure.make import of
from tests.measure.test_verdict import verdict
from tuneagent.measure.wording import described, signed
from tuneagent.model.trial import Effect
from tuneagent.report import trial_words as words


def effect(**changes: float | None) -> Effect:
    values = {"a_mean": 100.0, "b_mean": 105.0, "percent": 5.0, "low_percent": 2.0, "high_percent": 8.0}
    named = {"metric": "value", "pairs": 12, "sd_log_ratio": None, "detectable_percent": None, "method": "t"}
    return Effect(**(named | values | changes))  # type: ignore[arg-type] # by name


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (effect(), "+5.0 % (95 % interval +2.0 to +8.0, 12 pairs)"),
        (effect(pairs=1, low_percent=None, high_percent=None), "+5.0 % (1 pair, no interval)"),
        (
            effect(percent=-240.0, difference=-12.0, low_difference=-15.0, high_difference=-9.0),
            "-12.0 (95 % interval -15.0 to -9.0, 12 pairs)",
        ),
        (effect(percent=None, difference=5.0), "+5.0 (12 pairs, no interval)"),
    ],
)
def test_an_effect_is_told_in_the_unit_in_which_it_was_compared(told: Effect, said: str) -> None:
    assert described(told) == said


def test_the_reason_and_the_headline_tell_the_same_number() -> None:
    below = verdict(of("transactions_per_sec", (5.0,) * 6, (-7.0, -7.5, -6.5, -7.0, -7.2, -6.8)))
    above = verdict(of("transactions_per_sec", (5.0,) * 6, (6.0, 6.1, 5.9, 6.0, 6.2, 5.8)))

    for found in (below, above):
        assert found.primary is not None
        told = words.change(found.primary)
        assert found.why.startswith(f"transactions/s {told.removesuffix(' %')}")
        assert (" %" in told) == (" % (95 %" in found.why)
    assert below.why.startswith("transactions/s -12.0 (95 % interval ")


def test_little_is_not_told_as_nothing() -> None:
    assert (signed(0), signed(0.031), signed(-12)) == ("0", "+0.031", "-12.0")

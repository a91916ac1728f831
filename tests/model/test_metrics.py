"""The table of metrics, and the guards of the shipped policies held against it."""

from __future__ import annotations

from pathlib import Path

import yaml

from tuneagent.model.metrics import MAY_BE_ZERO, METRICS, measured_name, metric
from tuneagent.model.trial import Better

POLICIES = Path(__file__).parents[2] / "policies"


def test_each_name_is_there_once() -> None:
    names = [known.name for known in METRICS]
    assert len(names) == len(set(names))
    assert set(names) >= MAY_BE_ZERO


def test_each_guard_of_the_policies_is_a_metric_that_gets_worse_upwards() -> None:
    guarded = {
        guard["metric"] for path in POLICIES.glob("*.y*ml") for guard in yaml.safe_load(path.read_text())["guards"]
    }
    assert guarded
    assert {metric(measured_name(name)).better for name in guarded} == {Better.DOWN}


def test_an_unknown_metric_is_told_and_not_judged() -> None:
    assert metric("frames").better is Better.NEITHER
    assert metric("frames").title == "frames"

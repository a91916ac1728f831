from __future__ import annotations

import json

from tests import make_trials
from tuneagent.report import trial_json


def test_the_object_has_the_trial_and_what_is_worked_out_of_it() -> None:
    made = json.loads(json.dumps(trial_json.to_json(make_trials.pin(), "9.9"), allow_nan=False))

    assert next(iter(made)) == "schema"
    assert (made["schema"], made["version"]) == ("tuneagent.trial-report/1", "9.9")
    assert made["headline"].startswith("Keep: ")
    assert made["not_seen"].startswith("A change")
    assert (made["rounds_used"], made["rounds_unused"][0]["number"]) == (24, 5)
    assert {one["queue"] for one in made["interrupts_per_sec"]} == {"input.0", "output.0", "input.1", "output.1"}
    assert made["exits_per_sec"][0]["kind"] == "io"
    assert made["exits_per_sec"][0]["a"] < made["exits_per_sec"][0]["b"]
    assert [one["percent"] for one in made["latency_ns"]] == [50, 75, 90, 95, 99, 99.5, 99.9, 99.99]
    assert made["trial"]["question"]["load"]["kind"] == "tcp-rr"
    assert len(made["trial"]["rounds"]) == 25


def test_what_is_not_known_is_null() -> None:
    made = trial_json.to_json(make_trials.failed(), "1")

    assert made["not_seen"] is None
    assert made["trial"]["verdict"] is None
    assert {one["b"] for one in made["exits_per_sec"]} == {None}

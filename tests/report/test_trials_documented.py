"""Every key of what trials are told in is documented, and every documented key is there."""

from __future__ import annotations

import json
import re
from typing import Any

from tests import make_trials
from tests.report.test_advise_json import documented
from tuneagent.model.history import TrialSummary
from tuneagent.model.trial import Decision, Trial, TrialState
from tuneagent.record import exchange
from tuneagent.report import compare_text, history_json, trial_json

MAPS = re.compile(r"facts|rounds\[\]\.(metrics|missing|queue_interrupts(\{\})?|exits_by_kind|load\.latency\.counts)")
ELSEWHERE = re.compile(
    r"(question\.changes\[\]|verdict\.primary|verdict\.guards\[\]\.(guard|effect)|metrics\[\]\.(first|second)|trial)\..+"
)


def keys(value: Any, path: str = "") -> dict[str, list[Any]]:
    """The values of every key path."""
    found: dict[str, list[Any]] = {}
    if isinstance(value, dict):
        for key, entry in value.items():
            inner = f"{path}{{}}" if MAPS.fullmatch(path) else f"{path}.{key}".removeprefix(".")
            found.setdefault(inner, []).append(entry)
            for name, more in keys(entry, inner).items():
                found.setdefault(name, []).extend(more)
    elif isinstance(value, list):
        for entry in value:
            for name, more in keys(entry, f"{path}[]").items():
                found.setdefault(name, []).extend(more)
    return found


def assert_documented(schema: str, *values: Any) -> None:
    told = documented(schema)
    seen: set[str] = set()
    for value in values:
        for name, entries in keys(json.loads(json.dumps(value))).items():
            if ELSEWHERE.fullmatch(name):
                continue
            assert name in told, f"{name} is not documented"
            assert all(told[name].allows(entry) for entry in entries), name
            seen.add(name)
    assert told.keys() - seen == set()


def test_a_line_of_an_export() -> None:
    trials: tuple[Trial, ...] = (make_trials.pin(), make_trials.failed(), make_trials.running())

    assert_documented("tuneagent.trial/1", *(json.loads(exchange.line(one)) for one in trials))


def test_a_report() -> None:
    trials = (make_trials.pin(), make_trials.failed())

    assert_documented("tuneagent.trial-report/1", *(trial_json.to_json(one, "1") for one in trials))


def test_a_comparison() -> None:
    made = compare_text.to_json(make_trials.pin(), make_trials.e1(), "1")
    made["differ"] = [{"what": "QEMU", "first": "7.2", "second": "10"}]

    assert_documented("tuneagent.trial-comparison/1", made)


def test_a_history() -> None:
    row = TrialSummary(
        1, 2, 3, "1", "p", "s", "t", "m", TrialState.DONE, Decision.KEEP, True, 4, 5.0, 6.0, 7.0, 8, 9, "f"
    )
    bare = TrialSummary(
        1, 2, None, "1", "p", "s", "t", "m", TrialState.RUNNING, None, None, None, None, None, None, None, 0, ""
    )

    assert_documented("tuneagent.history/1", history_json.to_json([row, bare], 2, 0, "/x", "1"))

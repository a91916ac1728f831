from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.plan.test_policy_load import GOOD
from tuneagent.plan.policy_load import load
from tuneagent.plan.policy_schema import json_schema
from tuneagent.plan.policy_yaml import read

SHIPPED = sorted((Path(__file__).parents[2] / "policies").glob("*.yaml"))
NEVER_GUARDS = {"interrupts_per_sec", "interrupts_per_packet"}


def validator() -> Any:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    return jsonschema.Draft202012Validator(json_schema())


def test_the_schema_takes_a_good_policy_and_no_unknown_key() -> None:
    validator().validate(read("x", GOOD).value)
    assert list(validator().iter_errors(read("x", GOOD.replace("title:", "titel:")).value))
    assert list(validator().iter_errors(read("x", GOOD.replace("hard_irqs: 3", "hard_irqs: 0")).value))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_policy_is_valid_by_another_implementation_too(path: Path) -> None:
    validator().validate(read(path.name, path.read_text()).value)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_policy_guards_what_must_not_get_worse(path: Path) -> None:
    when = frozenset(read(path.name, path.read_text()).value["when"])
    (policy,) = load({path.name: path.read_text()}, when)
    metrics = {guard.metric for guard in policy.guards}
    assert metrics >= {"cpu_per_transaction", "latency_p99", "drops", "retransmits"}
    assert not metrics & NEVER_GUARDS
    assert all(expectation.source for expectation in policy.expects)


def test_what_does_not_explain_itself_is_described() -> None:
    schema = json_schema()
    own = [schema["properties"][key] for key in ("why", "source", "avoid_when", "undo")]
    figures = [schema["$defs"]["FileExpectation"]["properties"][key] for key in ("metric", "percent", "source")]
    guards = [schema["$defs"]["FileGuard"]["properties"][key] for key in ("metric", "worse_percent_max")]
    assert all(key["description"] for key in (*own, *figures, *guards))


def test_all_policies_are_shipped() -> None:
    assert len(SHIPPED) == 20


def test_solving_alone_imports_neither_pydantic_nor_yaml() -> None:
    code = "import sys, tuneagent.plan.solve; print(sorted({'pydantic', 'yaml'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"

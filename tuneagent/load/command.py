"""A user's command that prints a number: the last number of its last line is what it measured."""

from __future__ import annotations

from dataclasses import replace

from tuneagent.load import adapter, program
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.model.load import LoadResult, LoadSpec

LEAST_LIMIT_S = 60.0
SECONDS = "TUNEAGENT_SECONDS"
"""The environment tells the command for how long it should measure; it may do as it likes."""


def parse(text: str) -> float:
    """The last number of the last line that is not empty; LoadError without one."""
    lines = [line for line in text.splitlines() if line.strip()]
    value = adapter.last_number(lines[-1]) if lines else None
    if value is None:
        raise LoadError(
            f"the command's last line holds no number: {lines[-1].strip()[:200] if lines else 'it is empty'}"
        )
    return value


def run(spec: LoadSpec, seconds: float, warm_up_s: float, hooks: Hooks) -> LoadResult:
    """Runs it once. It may take ten times as long as it was told, and a minute in any case."""
    if not spec.command:
        raise LoadError("no command is given")
    limit_s = max(LEAST_LIMIT_S, 10 * (seconds + warm_up_s))
    plan = replace(
        adapter.plan(spec, [spec.command], seconds, 0.0, limit_s),
        limit_s=limit_s,
        environment={SECONDS: f"{seconds:g}"},
    )
    outputs = program.run(plan, hooks)
    if outputs[0].code:
        raise LoadError(f"{spec.command[0]} ended with {outputs[0].code}: {outputs[0].said()}")
    return LoadResult(
        seconds=outputs[0].wall_s,
        transactions=None,
        value=parse(outputs[0].out),
        unit="",
        client_cpu_s=outputs[0].cpu_s,
        client_cpus=adapter.cpus(outputs),
    )

"""The schema of a policy file. Imports pydantic, so import it where policies are loaded and nowhere else."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from tuneagent.model.identity import Role
from tuneagent.model.policy import Action, Disruption, Expectation, Guard, Policy

_KEBAB = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
_METRIC_IS = "What is measured, such as transactions_per_sec or latency_p99"
_METRIC = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"


Name = Annotated[str, StringConstraints(pattern=_KEBAB, max_length=63)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^\S([^\n]*\S)?$")]
Prose = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
Metric = Annotated[str, StringConstraints(pattern=_METRIC, max_length=63)]

Percent = Annotated[float, Field(ge=0, le=1000)]


def _ordered(bounds: list[float]) -> list[float]:
    if not math.isfinite(sum(bounds)) or bounds[0] > bounds[1]:
        raise ValueError("the lower bound before the upper one")
    return bounds


def _once(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError("each name once")
    return names


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PlainChange(_Strict):
    """An action that needs no number."""

    action: Literal[
        "pin-queue-interrupts",
        "irqbalance-ban",
        "irqbalance-ban-now",
        "irqbalance-off",
        "irqbalance-on",
        "event-index-on",
        "set-channels",
        "xps-by-queue",
        "rps-spread",
        "rps-off",
        "rings-max",
        "vhost-on",
        "vhost-affinity",
        "emulator-pin",
        "halt-polling-off",
    ]


class DeferChange(_Strict):
    """defer-interrupts with its two values, as the kernel takes them."""

    action: Literal["defer-interrupts"]
    napi_defer_hard_irqs: Annotated[
        int, Field(ge=1, le=1000, description="Empty polls before the interrupt is on again")
    ]
    gro_flush_timeout_ns: Annotated[int, Field(ge=1000, le=10_000_000, description="Time to the next poll, in ns")]


class CoalescingChange(_Strict):
    """coalescing with its times, or with the kernel's own choice of them."""

    action: Literal["coalescing"]
    rx_usecs: Annotated[int | None, Field(ge=1, le=10_000, description="Longest wait of a received packet, in µs")] = (
        None
    )
    tx_usecs: Annotated[int | None, Field(ge=1, le=10_000, description="Longest wait of a sent one, in µs")] = None
    adaptive: Annotated[bool, Field(description="The kernel chooses the times from what arrives")] = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.adaptive == bool(self.rx_usecs or self.tx_usecs):
            raise ValueError("either rx_usecs or tx_usecs, or both, or adaptive: true")
        return self


class FlowsChange(_Strict):
    """receive-flow-steering with the number of flows that are remembered."""

    action: Literal["receive-flow-steering"]
    flows: Annotated[int, Field(ge=256, le=1_048_576, description="Connections that are expected to be active at once")]


class QueuesChange(_Strict):
    """domain-queues with the number of queue pairs that it does not go beyond."""

    action: Literal["domain-queues"]
    most_queues: Annotated[int, Field(ge=1, le=256, description="Queue pairs that are asked for at most")]


class HaltPollingChange(_Strict):
    """halt-polling-on with its value, as KVM takes it."""

    action: Literal["halt-polling-on"]
    halt_poll_ns: Annotated[int, Field(ge=1, le=10_000_000, description="Longest poll for a halted vCPU, in ns")]


WithValues = DeferChange | CoalescingChange | FlowsChange | QueuesChange | HaltPollingChange
FileChange = Annotated[PlainChange | WithValues, Field(discriminator="action")]


class FileExpectation(_Strict):
    """What should improve, and where that number comes from."""

    metric: Annotated[Metric, Field(description=_METRIC_IS)]
    direction: Literal["up", "down"]
    percent: Annotated[
        list[Percent],
        Field(min_length=2, max_length=2, description="By how much of its old value: the least and the most seen"),
        AfterValidator(_ordered),
    ]
    source: Annotated[Line, Field(description="Who measured it, on what, and when")]
    when: Annotated[
        list[Name], Field(max_length=32, description="Rules for whose findings it was measured; none: for all")
    ] = []


class FileGuard(_Strict):
    """What must not get worse, and by how much at most."""

    metric: Annotated[Metric, Field(description=_METRIC_IS)]
    worse_percent_max: Annotated[Percent, Field(description="Percent of its value before the change")]


class PolicyFile(_Strict):
    """A tuneagent policy."""

    name: Annotated[Name, Field(description="The file's name without .yaml")]
    title: Line
    when: Annotated[
        list[Name],
        Field(max_length=32, description="Rules whose findings it answers; none: it is applied by name only"),
        AfterValidator(_once),
    ]
    role: Annotated[Literal["guest", "hypervisor"], Field(description="The side on which it is applied")]
    changes: Annotated[
        list[FileChange], Field(min_length=1, max_length=8, description="In order; the last is the purpose")
    ]
    why: Annotated[Prose, Field(description="Why the changes help, in terms of what the kernel does")]
    source: Annotated[Prose, Field(description="The documents and measurements that this rests on")]
    requires: Annotated[list[Line], Field(max_length=16)] = []
    disruption: Literal["none", "link-flap", "cold-start"]
    expects: Annotated[list[FileExpectation], Field(max_length=16, description="Empty: not known")]
    guards: Annotated[list[FileGuard], Field(max_length=16)]
    avoid_when: Annotated[Prose, Field(description="Where it would do harm or nothing")]
    undo: Annotated[Prose, Field(description="What takes it back, and what else ends it, such as a restart")]

    def policy(self, path: str) -> Policy:
        """The noun that everything else uses."""
        return Policy(
            name=self.name,
            title=self.title,
            rules=tuple(self.when),
            role=Role(self.role),
            actions=tuple(Action(change.action) for change in self.changes),
            parameters=_parameters(self.changes),
            why=self.why.strip(),
            source=self.source.strip(),
            requires=tuple(self.requires),
            disruption=Disruption(self.disruption),
            expects=tuple(
                Expectation(e.metric, e.direction, e.percent[0], e.percent[1], e.source, tuple(e.when))
                for e in self.expects
            ),
            guards=tuple(Guard(guard.metric, guard.worse_percent_max) for guard in self.guards),
            path=path,
            avoid_when=self.avoid_when.strip(),
            undo=self.undo.strip(),
        )


WITH_VALUES: dict[str, type[BaseModel]] = {
    "defer-interrupts": DeferChange,
    "coalescing": CoalescingChange,
    "receive-flow-steering": FlowsChange,
    "domain-queues": QueuesChange,
    "halt-polling-on": HaltPollingChange,
}
"""The models of actions that need numbers."""


def _parameters(changes: list[PlainChange | WithValues]) -> dict[str, int]:
    values = (change.model_dump(exclude={"action"}, exclude_defaults=True) for change in changes)
    return {key: value for given in values for key, value in given.items()}


def json_schema() -> dict[str, Any]:
    """The schema as JSON Schema, draft 2020-12. Rule names and the file's name are checked besides it."""
    schema = PolicyFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "tuneagent policy"}

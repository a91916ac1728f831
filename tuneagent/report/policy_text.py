"""Policies for people: the overview and the page of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tuneagent.model.policy import Expectation, Policy
from tuneagent.report import plain
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table
from tuneagent.report.safe import safe

LONGEST = 4000


def overview(policies: Iterable[Policy]) -> Document:
    """One row a policy."""
    rows = tuple((one.name, one.role.value, one.disruption.value, safe(one.title)) for one in policies)
    return (Table(("policy", "applied on the", "disrupts", "what it does"), rows, indent=0),)


def reach(expectation: Expectation) -> str:
    """Direction and size of an expected effect: ``up 63 to 83 %``, ``up 24 %``."""
    low, high = expectation.percent_low, expectation.percent_high
    size = f"{low:g} %" if low == high else f"{low:g} to {high:g} %"
    return f"{safe(expectation.direction)} {size}"


def page(policy: Policy, width: int = plain.WIDTH) -> str:
    """Everything that the policy's file says, as text."""
    return plain.write(tuple(_blocks(policy)), width)


def _blocks(policy: Policy) -> Iterator[Block]:
    yield Heading(f"{policy.name}: {safe(policy.title)}")
    yield Gap()
    yield Paragraph(safe(policy.why, LONGEST))
    yield Gap()
    for label, text in _facts(policy):
        yield Paragraph(safe(text, LONGEST), 0, label=f"{label}:")
    if policy.avoid_when:
        yield Paragraph(safe(policy.avoid_when, LONGEST), 0, label="Not when:")
    if policy.undo:
        yield Paragraph(safe(policy.undo, LONGEST), 0, label="It ends:")
    yield Paragraph(safe(policy.source, LONGEST), 0, label="Rests on:")
    yield Paragraph(safe(policy.path), 0, label="File:")


def _facts(policy: Policy) -> Iterator[tuple[str, str]]:
    yield "Answers", ", ".join(policy.rules) or "no finding: it is applied by name, and never advised"
    yield "Applied on", f"the {policy.role.value}"
    yield "Does", ", ".join(action.value for action in policy.actions)
    if policy.parameters:
        yield "With", ", ".join(f"{name} = {value}" for name, value in policy.parameters.items())
    yield "Disrupts", policy.disruption.value
    for requirement in policy.requires:
        yield "Requires", requirement
    for one in policy.expects:
        found = f" for {', '.join(one.rules)}" if one.rules else ""
        yield "Expect", f"{one.metric} {reach(one)}{found} ({one.source})"
    if not policy.expects:
        yield "Expect", "no figure is known; measure before and after"
    for guard in policy.guards:
        yield "Undo if", f"{guard.metric} gets worse by more than {guard.worse_percent_max:g} %"

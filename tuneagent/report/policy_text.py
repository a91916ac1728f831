"""Policies for people: the overview and the page of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tuneagent.model.policy import Policy
from tuneagent.report import plain
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table
from tuneagent.report.safe import safe

LONGEST = 4000


def overview(policies: Iterable[Policy]) -> Document:
    """One row a policy."""
    rows = tuple((one.name, one.role.value, one.disruption.value, safe(one.title)) for one in policies)
    return (Table(("policy", "applied on the", "disrupts", "what it does"), rows, indent=0),)


def page(policy: Policy) -> str:
    """Everything that the policy's file says, as text."""
    return plain.write(tuple(_blocks(policy)))


def _blocks(policy: Policy) -> Iterator[Block]:
    yield Heading(f"{policy.name}: {safe(policy.title)}")
    yield Gap()
    yield Paragraph(safe(policy.why, LONGEST))
    yield Gap()
    for label, text in _facts(policy):
        yield Paragraph(safe(text, LONGEST), 0, label=f"{label}:")
    yield Paragraph(safe(policy.source, LONGEST), 0, label="Rests on:")
    yield Paragraph(safe(policy.path), 0, label="File:")


def _facts(policy: Policy) -> Iterator[tuple[str, str]]:
    yield "Answers", ", ".join(policy.rules)
    yield "Applied on", f"the {policy.role.value}"
    yield "Does", ", ".join(action.value for action in policy.actions)
    if policy.parameters:
        yield "With", ", ".join(f"{name} = {value}" for name, value in policy.parameters.items())
    yield "Disrupts", policy.disruption.value
    for requirement in policy.requires:
        yield "Requires", requirement
    for one in policy.expects:
        reach = f"{one.percent_low:g} to {one.percent_high:g} %"
        yield "Expect", f"{one.metric} {one.direction} {reach} ({one.source})"
    if not policy.expects:
        yield "Expect", "no figure is known; measure before and after"
    for guard in policy.guards:
        yield "Give back if", f"{guard.metric} gets worse by more than {guard.worse_percent_max:g} %"

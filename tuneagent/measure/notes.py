"""What must be known beside a verdict: groups of rounds, rounds that do not count, a load that moved, gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tuneagent.measure.groups import two_groups
from tuneagent.model.figure import figure
from tuneagent.model.metrics import metric
from tuneagent.model.trial import Arm, Question, Round

_MOST = 20
"""Notes; more would not be read."""


def notes(question: Question, rounds: Sequence[Round], pairs: Sequence[tuple[Round, Round]]) -> tuple[str, ...]:
    """Each in one sentence."""
    counted = [one for pair in pairs for one in pair]
    found = (*_groups(question, counted), *_moved(counted), *_unused(rounds), *_missing(counted))
    return found[:_MOST]


def _groups(question: Question, counted: Sequence[Round]) -> Iterator[str]:
    for arm in Arm:
        values = [one.metrics.get(question.primary) for one in counted if one.arm is arm]
        groups = two_groups([value for value in values if value is not None])
        if groups:
            levels = f"{groups.low_rounds} at about {figure(groups.low)} and {groups.high_rounds} at about"
            yield (
                f"the rounds of {arm.name} fall into two groups, {levels} {figure(groups.high)} "
                f"{metric(question.primary).title}: their mean is a value that no round had{_advice(question)}"
            )


def _advice(question: Question) -> str:
    return "" if question.load.cpus else "; pin the load's processes, which were not, and try again"


def _moved(counted: Iterable[Round]) -> Iterator[str]:
    seen = {one.load.client_cpus for one in counted if one.load and one.load.client_cpus}
    if len(seen) > 1:
        cpus = sorted({cpu for some in seen for cpu in some})
        yield f"the load's processes moved between rounds, over CPUs {', '.join(map(str, cpus[:16]))}"


def _unused(rounds: Iterable[Round]) -> Iterator[str]:
    for reason, count in Counter(one.unused for one in rounds if one.unused).most_common():
        yield f"{count} round{' does' if count == 1 else 's do'} not count: {reason}"


def _missing(counted: Iterable[Round]) -> Iterator[str]:
    reasons = {name: reason for one in counted for name, reason in one.missing.items() if name not in one.metrics}
    for name, reason in sorted(reasons.items()):
        yield f"{metric(name).title} could not be measured in all rounds: {reason}"

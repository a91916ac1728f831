"""What must be known beside a verdict: groups of rounds, rounds that do not count, a load that moved, gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tuneagent.measure.groups import two_groups
from tuneagent.model.figure import figure
from tuneagent.model.load import LoadKind
from tuneagent.model.metrics import metric
from tuneagent.model.trial import Arm, Question, Round

_MOST_SAID, _LONGEST_SAID = 4, 200
_MOST = 20
"""Notes; more would not be read."""


def notes(question: Question, rounds: Sequence[Round], pairs: Sequence[tuple[Round, Round]]) -> tuple[str, ...]:
    """Each in one sentence."""
    counted = [one for pair in pairs for one in pair]
    found = (*_groups(question, counted), *_moved(counted), *_said(counted), *_unused(rounds), *_missing(counted))
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
    if question.load.cpus or question.load.kind is LoadKind.PASSIVE:
        return ""
    return "; pin the load's processes, which were not, and try again"


def _moved(counted: Iterable[Round]) -> Iterator[str]:
    seen = {one.load.client_cpus for one in counted if one.load and one.load.client_cpus}
    if len(seen) > 1:
        cpus = sorted({cpu for some in seen for cpu in some})
        yield f"the load's processes moved between rounds, over CPUs {', '.join(map(str, cpus[:16]))}"


def _said(counted: Sequence[Round]) -> Iterator[str]:
    """What the load itself has to say of its rounds."""
    notes = Counter(note for one in counted if one.load for note in dict.fromkeys(one.load.notes[:_MOST]))
    for note, count in notes.most_common(_MOST_SAID):
        yield f"the load says of {count} of {len(counted)} rounds: {note[:_LONGEST_SAID]}"


def _unused(rounds: Iterable[Round]) -> Iterator[str]:
    """By reason, and of which arm: what falls on one arm alone may be what B does."""
    unused = Counter((one.unused, one.arm) for one in rounds if one.unused)
    for reason in dict.fromkeys(reason for (reason, _), _ in unused.most_common()):
        a, b = unused[reason, Arm.A], unused[reason, Arm.B]
        yield f"{a + b} round{' does' if a + b == 1 else 's do'} not count ({a} of A, {b} of B): {reason}"


def _missing(counted: Iterable[Round]) -> Iterator[str]:
    reasons = {name: reason for one in counted for name, reason in one.missing.items() if name not in one.metrics}
    for name, reason in sorted(reasons.items()):
        yield f"{metric(name).title} could not be measured in all rounds: {reason}"

"""What was looked at and is well, and what could not be judged: by subject, and of many virtual machines by number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tuneagent.model.advise import AdviseReport, State
from tuneagent.model.finding import Clear, Unjudged
from tuneagent.report.document import Block, Gap, Heading, Paragraph, Table, Tone
from tuneagent.report.safe import safe
from tuneagent.report.values import with_unit

_NUMBER = re.compile(r"[0-9][0-9.,]*")


def well(report: AdviseReport, others: frozenset[str], *, verbose: bool) -> Iterator[Block]:
    """What is well; of the ``others`` (subjects of virtual machines not told in full) only how many."""
    if not report.clear:
        return
    own = [one for one in report.clear if one.subject not in others]
    yield Gap()
    yield Heading("Looked for and not found")
    if verbose or report.state is not State.FINDINGS:
        if own:
            rows = tuple(_clear_row(one) for one in own)
            yield Table(("fault", "on", "the numbers that speak against it"), rows)
    elif own:
        faults = sorted({f"{safe(one.rule)} ({safe(one.subject)})" for one in own})
        yield Paragraph(f"{', '.join(faults)}; --verbose gives the numbers", 2)
    yield from _of_others(report, others)


def _of_others(report: AdviseReport, others: frozenset[str]) -> Iterator[Block]:
    counts = Counter(one.rule for one in report.clear if one.subject in others)
    if counts:
        words = ", ".join(f"{safe(rule)} ({count:,})" for rule, count in sorted(counts.items()))
        yield Paragraph(words, 2, Tone.PLAIN, "On virtual machines and their interfaces:")


def _clear_row(clear: Clear) -> tuple[str, str, str]:
    words = ", ".join(f"{safe(one.metric)} {with_unit(one.value, one.unit)}" for one in clear.evidence)
    return safe(clear.rule), safe(clear.subject), words


def not_judged(report: AdviseReport, others: frozenset[str]) -> Iterator[Block]:
    """What could not be judged, and why; of the ``others`` each reason once, with one of them as the example."""
    if not report.unjudged:
        return
    yield Gap()
    yield Heading("Not judged")
    by_reason: dict[tuple[str, str], list[str]] = {}
    for one in report.unjudged:
        if one.subject not in others:
            by_reason.setdefault((one.subject, one.reason), []).append(safe(one.rule))
    for (subject, reason), rules in by_reason.items():
        yield Paragraph(f"{safe(reason)} ({', '.join(rules)})", 2, Tone.PLAIN, f"{safe(subject)}:")
    yield from _alike([one for one in report.unjudged if one.subject in others])


def _alike(unjudged: list[Unjudged]) -> Iterator[Block]:
    """One paragraph a rule and reason, whatever the numbers and names in the reason are."""
    groups: dict[tuple[str, str], list[Unjudged]] = {}
    for one in unjudged:
        shape = _NUMBER.sub("#", one.reason.replace(one.subject, ""))
        groups.setdefault((one.rule, shape), []).append(one)
    for (rule, _), group in groups.items():
        first = group[0]
        label = safe(first.subject) if len(group) == 1 else f"{safe(first.subject)} and {len(group) - 1:,} more"
        yield Paragraph(f"{safe(first.reason)} ({safe(rule)})", 2, Tone.PLAIN, f"{label}:")

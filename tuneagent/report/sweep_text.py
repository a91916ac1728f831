"""``sweep`` for people and as JSON: the knee in a sentence, then the curve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tuneagent.model.sweep import Point, Sweep
from tuneagent.report import trial_words as words
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table, Tone
from tuneagent.report.jsonable import jsonable
from tuneagent.report.safe import safe
from tuneagent.report.values import plural

SCHEMA = "tuneagent.sweep/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""
LONGEST_WHY = 2000


def document(told: Sweep) -> Document:
    """The report's blocks."""
    return tuple(_blocks(told))


def to_json(told: Sweep) -> dict[str, Any]:
    """One object."""
    fields: dict[str, Any] = jsonable(told)
    return {"schema": SCHEMA, "headline": headline(told), **fields, "why": told.why or None}


def headline(told: Sweep) -> str:
    """Where the knee is, in one sentence."""
    name = safe(told.name)
    if told.why:
        left = "the machine is as before" if told.put_back else "the machine could not be put back"
        return f"Failed after {plural(told.blocks, 'block')}, and {left}."
    if told.knee.value is None:
        return f"No knee of {words.title(told.metric)} over {name} is resolved."
    return f"The knee of {words.title(told.metric)} over {name} is at {safe(told.knee.value)}."


def _blocks(told: Sweep) -> Iterator[Block]:
    yield Heading(headline(told), Tone.CRITICAL if told.why else Tone.INFO)
    yield Paragraph(safe(told.why or told.knee.why, LONGEST_WHY), 0, Tone.PLAIN, "Why:")
    if not told.points:
        return
    yield Gap()
    first = safe(told.points[0].value)
    columns = (safe(told.name), words.title(told.metric), f"against {first}", "interval")
    yield Table(columns, tuple(_row(told, one) for one in told.points))
    measured = plural(told.blocks, "block")
    all_at_once = "intervals hold for all values at once, in 95 % of sweeps"
    yield Paragraph(f"{measured} of every value in random order; {all_at_once}", 2, Tone.FAINT)
    if told.trials:
        numbers = ", ".join(map(str, told.trials))
        yield Paragraph(f"each value against {first} is a trial of its own: {numbers}", 2, Tone.FAINT)


def _row(told: Sweep, one: Point) -> tuple[str, str, str, str]:
    mean = words.value(told.metric, one.mean)
    if one.effect is None:
        return safe(one.value), mean, "", ""
    between = words.interval(one.effect)
    between = "too few blocks" if between == words.TOO_FEW else between
    return safe(one.value), mean, words.change(one.effect), between

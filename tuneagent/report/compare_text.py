"""``tuneagent report ID ID``: two trials side by side, and what keeps them from being compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tuneagent.model.trial import Effect, Question, Trial
from tuneagent.report import trial_words as words
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table, Tone
from tuneagent.report.jsonable import jsonable
from tuneagent.report.safe import safe
from tuneagent.report.trial_text import about, ordered, tone
from tuneagent.report.values import number

SCHEMA = "tuneagent.trial-comparison/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""
CHANGES = "what B changes"
MOST_CHANGES, LONGEST = 3, 80
SAME_FROM = frozenset({"Rounds", "When", "Interval"})
"""Differ from trial to trial, and say nothing of the machine."""


def document(first: Trial, second: Trial) -> Document:
    """The two verdicts, their effects in one table, and what else differs."""
    parts = (_heads(first, second), _effects(first, second), _differences(first, second))
    return tuple(block for part in parts for block in part)


def to_json(first: Trial, second: Trial, version: str) -> dict[str, Any]:
    """One object: a row a metric, and what differs besides."""
    return {
        "schema": SCHEMA,
        "version": version,
        "trials": [
            {"id": one.id, "policy": one.question.policy, "headline": words.headline(one)} for one in (first, second)
        ],
        "metrics": [
            {"metric": name, "first": jsonable(a), "second": jsonable(b), "effects": apart(a, b)}
            for name, a, b in pairs(first, second)
        ],
        "differ": [{"what": what, "first": a, "second": b} for what, a, b in differences(first, second)],
    }


def pairs(first: Trial, second: Trial) -> Iterator[tuple[str, Effect | None, Effect | None]]:
    """The effects of both on each metric that one of them has."""
    sides = [{one.metric: one for one in ordered(trial)} for trial in (first, second)]
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        yield name, sides[0].get(name), sides[1].get(name)


def apart(first: Effect | None, second: Effect | None) -> str:
    """Whether the two intervals leave no common effect."""
    if first is None or second is None:
        return "not in both"
    if first.difference is not None and second.difference is not None:
        bounds = (first.low_difference, first.high_difference, second.low_difference, second.high_difference)
    else:
        bounds = (first.low_percent, first.high_percent, second.low_percent, second.high_percent)
    if any(one is None for one in bounds):
        return "unknown"
    low, high, other_low, other_high = (one for one in bounds if one is not None)
    if low > other_high or other_low > high:
        return "apart"
    return "overlap"


def differences(first: Trial, second: Trial) -> Iterator[tuple[str, str, str]]:
    """What differs in the question, the load and the machine: an effect may be its doing.

    Of two policies, which the heads name, the changes differ anyway; of one policy or two plans they should not.
    """
    sides = [_told(trial) for trial in (first, second)]
    if first.question.policy != second.question.policy:
        for side in sides:
            del side[CHANGES]
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        one, other = (side.get(name, "-") for side in sides)
        if one != other:
            yield name, one, other


def _told(trial: Trial) -> dict[str, str]:
    told = {label: said for label, said in about(trial) if label not in SAME_FROM}
    asked = trial.question
    return {
        CHANGES: _changes(asked),
        "round": f"{number(asked.round_s)} s after {number(asked.settle_s)} s",
        "metric that decides": words.title(asked.primary),
        "tuneagent": safe(trial.version),
        **told,
    }


def _changes(asked: Question) -> str:
    """The first of them; of what is long its beginning."""
    told = [
        f"{safe(one.where, LONGEST)} {safe(one.old or '?', LONGEST)} → {safe(one.new, LONGEST)}"
        for one in asked.changes
    ]
    more = [f"and {len(told) - MOST_CHANGES} more"] if len(told) > MOST_CHANGES else []
    return "; ".join([*told[:MOST_CHANGES], *more]) or "nothing that is told"


def _heads(first: Trial, second: Trial) -> Iterator[Block]:
    for trial in (first, second):
        yield Heading(f"Trial {trial.id}, {words.subject(trial)}", tone(trial))
        yield Paragraph(words.headline(trial), 2)


def _effects(first: Trial, second: Trial) -> Iterator[Block]:
    rows = tuple(
        (words.title(name), *_side(name, one), *_side(name, other), apart(one, other))
        for name, one, other in pairs(first, second)
    )
    if not rows:
        return
    yield Gap()
    sides = [f"{what} {trial.id}" for trial in (first, second) for what in ("A of", "change in", "interval in")]
    yield Table(("metric", *sides, "the effects"), rows, frozenset(sides))
    yield Paragraph(
        "Each change is against the A of its own trial. apart: their 95 % intervals have nothing in common; overlap: "
        "they may be the same.",
        2,
        Tone.FAINT,
    )


def _side(name: str, effect: Effect | None) -> tuple[str, str, str]:
    if effect is None:
        return "-", "-", "-"
    return words.value(name, effect.a_mean), words.change(effect), words.interval(effect)


def _differences(first: Trial, second: Trial) -> Iterator[Block]:
    found = tuple(differences(first, second))
    yield Gap()
    if not found:
        yield Paragraph("The same load on the same machine, as far as it is told.", 0, Tone.GOOD)
        return
    yield Heading("What else differs, and may be why", Tone.WARNING)
    yield Table(("what", f"trial {first.id}", f"trial {second.id}"), found)

"""``tune`` for people and as JSON: what stands in the end, then each policy with its verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tuneagent.model.trial import Trial
from tuneagent.model.tuning import Attempt, Tried, Tuning
from tuneagent.report import trial_words as words
from tuneagent.report.document import Block, Document, Gap, Heading, Lines, Paragraph, Table, Tone
from tuneagent.report.safe import safe
from tuneagent.report.values import plural

SCHEMA = "tuneagent.tuning/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""
MOST_ROWS = 100
LONGEST_WHY = 600
_WORDS = {
    Tried.KEPT: "won",
    Tried.TAKEN_BACK: "taken back",
    Tried.FAILED: "FAILED",
    Tried.LEFT_OUT: "not tried",
}


def document(told: Tuning) -> Document:
    """The report's blocks."""
    return tuple(_blocks(told))


def to_json(told: Tuning) -> dict[str, Any]:
    """One object; trials by their number, which `tuneagent report` tells in full."""
    return {
        "schema": SCHEMA,
        "version": told.version,
        "headline": headline(told),
        "seconds": round(told.seconds, 1),
        "attempts": [_attempt(one) for one in told.attempts],
        "together": _trial(told.together),
        "transactions": list(told.transactions),
        "why": told.why or None,
    }


def line(one: Attempt) -> str:
    """An attempt as it ends: ``rps-off on eth0: won; transactions/s +50.8 %, …``."""
    why = one.why if one.trial is None or one.trial.verdict is None else words.headline(one.trial)
    return f"{safe(one.policy)} on {safe(one.subject)}: {_WORDS[one.became]}; {safe(why, LONGEST_WHY).rstrip('.')}"


def headline(told: Tuning) -> str:
    """What stands in the end, in one sentence."""
    tried = len({(one.policy, one.subject) for one in told.attempts if one.became is not Tried.LEFT_OUT})
    of = f"of {plural(tried, 'policy').replace('policys', 'policies')} tried"
    if told.transactions:
        return f"Kept: {_named(told.kept)}, {of}."
    if told.together is not None:
        won = f"each of {_named(told.kept)} won when it was tried"
        return f"Nothing is kept, {of}: {won}, and together they were not confirmed."
    return f"Nothing is kept, {of}; the machine is as before."


def _named(attempts: tuple[Attempt, ...]) -> str:
    return ", ".join(f"{safe(one.policy)} on {safe(one.subject)}" for one in attempts) or "nothing"


def _blocks(told: Tuning) -> Iterator[Block]:
    yield Heading(headline(told), Tone.GOOD if told.transactions else Tone.INFO)
    if told.why:
        yield Paragraph(safe(told.why, LONGEST_WHY), 0, Tone.CRITICAL, "Failed:")
    if told.together is not None:
        yield Paragraph(words.headline(told.together), 0, Tone.PLAIN, "All of it together:")
    yield Paragraph(f"{told.seconds / 60:.1f} min", 0, Tone.FAINT, "Took:")
    if told.attempts:
        yield Gap()
        yield Table(("policy", "on", "came to", "trial", "why"), tuple(_row(one) for one in told.attempts[:MOST_ROWS]))
    yield Gap()
    yield Lines(tuple(_next(told)), indent=0)


def _row(one: Attempt) -> tuple[str, str, str, str, str]:
    number = "" if one.trial is None else str(one.trial.id)
    return safe(one.policy), safe(one.subject), _WORDS[one.became], number, safe(one.why, LONGEST_WHY)


def _next(told: Tuning) -> Iterator[str]:
    for number in told.transactions:
        yield f"Give it back: tuneagent rollback {number}"
    if any(one.trial is not None for one in told.attempts):
        yield "A trial in full: tuneagent report ID"


def _attempt(one: Attempt) -> dict[str, Any]:
    return {
        "policy": one.policy,
        "subject": one.subject,
        "became": one.became.value,
        "why": one.why or None,
        "trial": _trial(one.trial),
    }


def _trial(trial: Trial | None) -> dict[str, Any] | None:
    if trial is None:
        return None
    return {
        "id": trial.id,
        "state": trial.state.value,
        "decision": trial.verdict.decision.value if trial.verdict is not None else None,
        "headline": words.headline(trial),
    }

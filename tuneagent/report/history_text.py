"""``tuneagent history``: a row a trial, the newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuneagent.model.history import TrialSummary
from tuneagent.model.trial import Decision, TrialState
from tuneagent.report import trial_words as words
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table
from tuneagent.report.safe import safe
from tuneagent.report.transaction_text import moment
from tuneagent.report.values import plural

LONGEST_NAME = 40
_COLUMNS = ("id", "began", "policy", "on", "came to", "change of", "by", "95 % interval", "pairs")
_RIGHT = frozenset({"id", "by", "95 % interval", "pairs"})


def document(rows: Sequence[TrialSummary], total: int, offset: int, path: str, *, chosen: bool = False) -> Document:
    """The table, and how to see the rest. ``total``: how many the question has; ``chosen``: not all are meant."""
    return tuple(_blocks(rows, total, offset, path, f"No {'such ' if chosen else ''}trial"))


def _blocks(rows: Sequence[TrialSummary], total: int, offset: int, path: str, none: str) -> Iterator[Block]:
    if not rows:
        said = f"{none} in {safe(path)}" if not total else f"No more than {plural(total, 'trial')} in {safe(path)}"
        yield Heading(f"{said}.")
        return
    yield Table(_COLUMNS, tuple(map(_row, rows)), _RIGHT, indent=0)
    yield Gap()
    first, last = offset + 1, offset + len(rows)
    yield Paragraph(f"{first:,} to {last:,} of {plural(total, 'trial')} in {safe(path)}.")
    if last < total:
        yield Paragraph(f"tuneagent history --offset {last}", 0, label="Older:")
    yield Paragraph("tuneagent report ID", 0, label="In full:")


def _row(row: TrialSummary) -> tuple[str, ...]:
    effect = row.percent is not None
    return (
        str(row.id),
        moment(row.began_ns).removesuffix(" UTC"),
        safe(row.policy, LONGEST_NAME),
        safe(row.subject, LONGEST_NAME),
        came_to(row),
        words.title(row.primary) if effect else "",
        words.percent(row.percent) if effect else "",
        _interval(row) if effect else "",
        "" if row.pairs is None else f"{row.pairs:,}",
    )


def came_to(row: TrialSummary) -> str:
    """``keep``, ``undecided``, ``failed``; and where what was done is not what the verdict says, that."""
    if row.state is not TrialState.DONE or row.decision is None:
        return row.state.value
    if row.kept is not None and row.kept != (row.decision is Decision.KEEP):
        return f"{row.decision.value}, {'kept' if row.kept else 'taken back'}"
    return row.decision.value


def _interval(row: TrialSummary) -> str:
    if row.low_percent is None or row.high_percent is None:
        return words.TOO_FEW
    return f"{words.percent(row.low_percent).removesuffix(' %')} to {words.percent(row.high_percent)}"

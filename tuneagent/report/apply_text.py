"""``apply``, ``--check``, ``confirm``, ``rollback`` for people: the outcome in one sentence, then what, then how on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

from tuneagent.model.apply_report import ApplyReport, Command, PlannedChange, Result
from tuneagent.model.plan import Change
from tuneagent.model.transaction import Entry, Outcome, Transaction
from tuneagent.report.document import Block, Document, Gap, Heading, Lines, Paragraph, Table, Tone
from tuneagent.report.safe import safe
from tuneagent.report.transaction_text import LASTS, clock, counted, given_back, moment, value, who, written
from tuneagent.report.values import UNKNOWN, plural

LONGEST_LINE = 8192
LONGEST_REASON = 2000
MOST_NOTES = 20
MOST_DECLINED = 50
_TONES = {
    Result.APPLIED: Tone.GOOD,
    Result.ALREADY_SO: Tone.GOOD,
    Result.DECLINED: Tone.INFO,
    Result.WOULD_CHANGE: Tone.INFO,
    Result.FAILED: Tone.CRITICAL,
    Result.STUCK: Tone.CRITICAL,
    Result.CONFIRMED: Tone.GOOD,
    Result.UNDONE: Tone.GOOD,
    Result.TOO_LATE: Tone.CRITICAL,
    Result.NOTHING: Tone.INFO,
}
_OLD, _NEW = "- ", "+ "


def document(report: ApplyReport, *, diff: bool = False) -> Document:
    """The report's blocks; ``diff`` tells each change as the line that goes and the line that comes."""
    return tuple(_blocks(report, diff=diff))


def _blocks(report: ApplyReport, *, diff: bool) -> Iterator[Block]:
    yield Heading(headline(report), _TONES[report.result])
    if report.origin != "this machine":
        yield Paragraph(f"on {safe(report.origin)}, and not on this machine", 0, Tone.FAINT)
    for transaction in report.recovered:
        yield from _recovered(transaction)
    yield from _planned(report.planned, diff=diff)
    for transaction in report.transactions:
        yield from _transaction(report, transaction, diff=diff)
    yield from _declined(report)
    yield from _notes(report)
    yield from _next(report)


def headline(report: ApplyReport) -> str:
    """The outcome in one sentence."""
    return _HEADLINES[report.result](report)


def _applied(report: ApplyReport) -> str:
    entries = _entries(report.transactions)
    waits = next((one for one in report.transactions if one.awaits_confirmation), None)
    if waits is not None and waits.deadline is not None:
        seconds, until = waits.deadline.seconds, clock(waits.deadline.at_ns)
        return f"Applied: {counted(entries)}. It is undone at {until} unless it is confirmed within {seconds:g} s."
    return f"Applied: {counted(entries)}."


def _failed(report: ApplyReport) -> str:
    wrote = any(one.outcome is Outcome.GIVEN_BACK for one in _entries(report.transactions))
    return f"Failed, and {'everything was given back' if wrote else 'nothing was changed'}: {_reason(report)}."


def _undone(report: ApplyReport) -> str:
    return f"{_named(report.transactions)} undone: {counted(_entries(report.transactions))}."


def _entries(transactions: Iterable[Transaction]) -> list[Entry]:
    return [entry for each in transactions for entry in each.entries]


def _stuck(report: ApplyReport) -> str:
    entries = _entries((*report.transactions, *report.recovered))
    stuck = sum(entry.outcome is Outcome.STUCK for entry in entries)
    if not stuck:  # a journal is damaged, and what it changed is as it was left
        return f"Not all could be undone: {_reason(report)}."
    still = f"{plural(stuck, 'change')} still in force and could not be given back"
    if report.command is Command.APPLY and report.reason:
        return f"Failed, and {still}: {_reason(report)}."
    return f"Not undone whole: {still}{f': {_reason(report)}' if report.reason else ''}."


def _reason(report: ApplyReport) -> str:
    return safe(report.reason, LONGEST_REASON).rstrip(".") or "no reason was given"


def _named(transactions: tuple[Transaction, ...]) -> str:
    ids = ", ".join(str(one.id) for one in transactions)
    return f"Transaction {ids} is" if len(transactions) == 1 else f"Transactions {ids} are"


_HEADLINES: Mapping[Result, Callable[[ApplyReport], str]] = {
    Result.APPLIED: _applied,
    Result.ALREADY_SO: lambda _: "Already so: nothing was written.",
    Result.DECLINED: lambda _: "Nothing can be done here: nothing was written.",
    Result.WOULD_CHANGE: lambda one: f"{plural(len(one.planned), 'change')} would be made; nothing was written.",
    Result.FAILED: _failed,
    Result.STUCK: _stuck,
    Result.CONFIRMED: lambda one: f"{_named(one.transactions)} confirmed: it stays.",
    Result.UNDONE: _undone,
    Result.TOO_LATE: lambda one: f"Too late: {_reason(one)}.",
    Result.NOTHING: lambda one: f"Nothing to do: {_reason(one)}.",
}


def _recovered(transaction: Transaction) -> Iterator[Block]:
    yield Gap()
    stuck = any(entry.outcome is Outcome.STUCK for entry in transaction.entries)
    tone = Tone.CRITICAL if stuck else Tone.WARNING
    yield Paragraph(
        f"it was left in the middle and was undone first: {counted(transaction.entries)}",
        0,
        tone,
        f"Transaction {transaction.id}:",
    )
    if transaction.entries:
        yield given_back(transaction.entries)


def _planned(planned: tuple[PlannedChange, ...], *, diff: bool) -> Iterator[Block]:
    for (policy, subject), group in groupby(planned, key=lambda one: (one.policy, one.subject)):
        yield Gap()
        yield Heading(" on ".join(filter(None, (safe(policy), safe(subject)))) or "Out of the plan file")
        changes = [one.change for one in group]
        rows = tuple(_row(one) for one in changes if not diff and not one.diff)
        if rows:
            yield Table(("what", "old", "new", "why"), rows)
        for change in changes:
            if diff or change.diff:
                yield from _difference(change)


def _row(change: Change) -> tuple[str, str, str, str]:
    return _where(change), _old(change), value(change.new), safe(change.why)


def _where(change: Change) -> str:
    return safe(change.where) or str(change.kind)


def _old(change: Change) -> str:
    return UNKNOWN if change.old is None else value(change.old)


def _difference(change: Change) -> Iterator[Block]:
    yield Paragraph(safe(change.why), 2, Tone.PLAIN, f"{_where(change)}:")
    yield Lines(_lines(change.old, change.new, change.diff), indent=4)


def _lines(old: str | None, new: str, element: tuple[str, ...] = ()) -> tuple[str, ...]:
    if element:
        return tuple(safe(line, LONGEST_LINE) for line in element)
    known = () if old is None else (_OLD + safe(old, LONGEST_LINE),)
    return (*known, _NEW + safe(new, LONGEST_LINE))


def _transaction(report: ApplyReport, transaction: Transaction, *, diff: bool) -> Iterator[Block]:
    yield Gap()
    yield Heading(f"Transaction {transaction.id}")
    yield Paragraph(who(transaction), 2, Tone.FAINT)
    if transaction.damage:
        yield Paragraph(safe(transaction.damage, LONGEST_REASON), 2, Tone.CRITICAL, "Its journal is damaged:")
    if not transaction.entries:
        return
    if report.command is Command.CONFIRM or report.result in {Result.APPLIED, Result.DECLINED}:
        yield written(transaction.entries)
        yield from _lasts(transaction)
    else:
        yield given_back(transaction.entries)
    if diff:
        for entry in transaction.entries:
            if entry.outcome is Outcome.CHANGED:
                yield Paragraph(f"{safe(entry.where)}:", 2)
                yield Lines(_lines(entry.old, entry.new), indent=4)


def _lasts(transaction: Transaction) -> Iterator[Block]:
    """How long what was changed holds by itself."""
    kinds = dict.fromkeys(entry.lasts for entry in transaction.entries if entry.outcome is Outcome.CHANGED)
    for lasts in kinds:
        count = sum(one.outcome is Outcome.CHANGED and one.lasts is lasts for one in transaction.entries)
        yield Paragraph(f"{LASTS[lasts]} ({plural(count, 'change')})", 2, Tone.PLAIN, "Holds:")


def _declined(report: ApplyReport) -> Iterator[Block]:
    if not report.declined:
        return
    yield Gap()
    yield Heading("Asked for, with nothing to do here")
    shown = report.declined[:MOST_DECLINED]
    rows = tuple((safe(one.policy), safe(one.subject), safe(one.reason)) for one in shown)
    yield Table(("policy", "on", "why"), rows)
    yield from _more(len(report.declined) - len(shown))


def _notes(report: ApplyReport) -> Iterator[Block]:
    if report.notes:
        yield Gap()
    for note in report.notes[:MOST_NOTES]:
        yield Paragraph(safe(note, LONGEST_REASON), 0, Tone.PLAIN, "Note:")
    yield from _more(len(report.notes) - MOST_NOTES)


def _more(count: int) -> Iterator[Block]:
    if count > 0:
        yield Paragraph(f"… {count:,} more with --json", 2)


def _next(report: ApplyReport) -> Iterator[Block]:
    lines = tuple(next_lines(report))
    if not lines:
        return
    yield Gap()
    options = safe(report.options, LONGEST_LINE)
    yield Lines(tuple(_typed(options, *one) for one in lines), indent=0)


def _typed(options: str, label: str, line: str, text: str) -> str:
    """Never wrapped, for it is to be pasted."""
    return " ".join(filter(None, (label, line, options, f" # {text}" if text else "")))


def next_lines(report: ApplyReport) -> Iterator[tuple[str, str, str]]:
    """What to do next: a label, the command, and a word on it."""
    waiting = [one for one in report.transactions if one.awaits_confirmation]
    for one in waiting:
        until = f"before {moment(one.deadline.at_ns)}; look first whether all works" if one.deadline else ""
        yield "Confirm:", f"tuneagent confirm {one.id}", until
    if report.result in {Result.APPLIED, Result.CONFIRMED}:
        for one in report.transactions:
            yield "Undo:", f"tuneagent rollback {one.id}", ""
            yield "Look:", f"tuneagent status {one.id}", ""
    if report.result is Result.STUCK:
        for one in _with_stuck((*report.recovered, *report.transactions)):
            yield "Again:", f"tuneagent rollback {one.id}", "tries what is stuck again"
            yield "By hand:", f"tuneagent rollback {one.id} --print", "shows the shell lines and writes nothing"


def _with_stuck(transactions: Iterable[Transaction]) -> Iterator[Transaction]:
    return (one for one in transactions if any(entry.outcome is Outcome.STUCK for entry in one.entries))

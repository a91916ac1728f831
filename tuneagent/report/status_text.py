"""``tuneagent status`` for people: whether all stands as it was applied, what does not and by whom, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tuneagent.model.apply_report import StatusReport
from tuneagent.model.transaction import EntryStatus, Standing, State, TransactionStatus
from tuneagent.report.document import Block, Document, Gap, Heading, Lines, Paragraph, Table, Tone
from tuneagent.report.safe import safe
from tuneagent.report.transaction_text import LONGEST_DETAIL, moment, value, who
from tuneagent.report.values import UNKNOWN, plural

LONGEST_LINE = 8192
MOST_NAMED = 8
_WORDS = {
    Standing.IN_FORCE: "in force",
    Standing.NOT_YET: "not yet in effect",
    Standing.DRIFTED: "DRIFTED",
    Standing.BACK: "BACK to the old value",
    Standing.GONE: "GONE",
    Standing.ENDED: "ended",
    Standing.UNKNOWN: "unknown",
    Standing.NOT_OURS: "not ours",
}
_LOST = frozenset({Standing.DRIFTED, Standing.BACK, Standing.GONE})


def document(report: StatusReport, *, every: bool = False) -> Document:
    """The report's blocks; ``every`` tells in full also what does not stand any more."""
    return tuple(_blocks(report, every=every))


def _blocks(report: StatusReport, *, every: bool) -> Iterator[Block]:
    yield Heading(*headline(report))
    if report.origin != "this machine":
        yield Paragraph(f"on {safe(report.origin)}, and not on this machine", 0, Tone.FAINT)
    told = [one for one in report.transactions if every or _matters(one)]
    for one in told:
        yield from _transaction(report, one)
    rest = sorted(
        {one.transaction.id for one in report.transactions if not (every or _matters(one))}.union(report.closed)
    )
    if rest:
        yield Gap()
        yield Paragraph(f"{_ids(rest)}: nothing of it stands; `tuneagent status ID` tells of one", 0, Tone.FAINT)
    for note in report.notes:
        yield Paragraph(safe(note, LONGEST_DETAIL), 0, Tone.PLAIN, "Note:")


def headline(report: StatusReport) -> tuple[str, Tone]:
    """The one sentence: an undo that is due first, then drift, then what stands."""
    due = report.due
    if due:
        words = "; ".join(_due(report, number) for number in due[:MOST_NAMED])
        return f"{words}.", Tone.CRITICAL
    if report.damaged:
        return "A journal is damaged: what it changed cannot all be told.", Tone.CRITICAL
    standing = [one for one in report.transactions if _matters(one)]
    if not standing:
        return f"Nothing of tuneagent's stands here (journals: {safe(report.directory)}).", Tone.INFO
    if report.drifted:
        lost = [entry for one in standing if one.drifted for entry in one.entries if entry.standing in _LOST]
        return f"Drifted: {plural(len(lost), 'change')} no longer as applied.", Tone.WARNING
    return _undisturbed(standing)


def _undisturbed(standing: list[TransactionStatus]) -> tuple[str, Tone]:
    tried = [one.transaction.id for one in standing if one.transaction.on_trial]
    if tried:
        return f"A trial runs: transaction {tried[-1]} is what it tries, and is undone at its end.", Tone.INFO
    waiting = [one.transaction for one in standing if one.transaction.awaits_confirmation]
    if waiting and waiting[-1].deadline is not None:
        last = waiting[-1].deadline
        return f"Transaction {waiting[-1].id} is undone at {moment(last.at_ns)} unless it is confirmed.", Tone.WARNING
    return f"As applied: {_counted([entry for one in standing for entry in one.entries])}.", Tone.GOOD


def _due(report: StatusReport, number: int) -> str:
    why = "was not confirmed in time" if number in report.overdue else "interrupted"
    options = f" {safe(report.options, LONGEST_LINE)}" if report.options else ""
    return f"Transaction {number} {why}: run tuneagent rollback {number}{options}"


def _matters(status: TransactionStatus) -> bool:
    return status.transaction.stands or bool(status.transaction.damage)


def _counted(entries: list[EntryStatus]) -> str:
    counts = Counter(one.standing for one in entries)
    return (
        ", ".join(f"{counts[standing]:,} {word}" for standing, word in _WORDS.items() if counts[standing]) or "nothing"
    )


def _ids(numbers: list[int]) -> str:
    ids = map(str, numbers[-MOST_NAMED:])
    more = f" and {len(numbers) - MOST_NAMED:,} before" if len(numbers) > MOST_NAMED else ""
    return f"{'Transaction' if len(numbers) == 1 else 'Transactions'} {', '.join(ids)}{more}"


def _transaction(report: StatusReport, status: TransactionStatus) -> Iterator[Block]:
    transaction = status.transaction
    yield Gap()
    yield Heading(f"Transaction {transaction.id}: {_state(report, status)}")
    yield Paragraph(who(transaction), 2, Tone.FAINT)
    if transaction.damage:
        yield Paragraph(safe(transaction.damage, LONGEST_DETAIL), 2, Tone.CRITICAL, "Its journal is damaged:")
    if status.entries:
        rows = tuple(_row(one) for one in status.entries)
        yield Table(("what", "applied", "now", "how it stands"), rows)
    yield from _next(report, status)


def _state(report: StatusReport, status: TransactionStatus) -> str:
    transaction = status.transaction
    if status.interrupted:
        return "INTERRUPTED in the middle"
    if transaction.id in report.overdue:
        return "NOT CONFIRMED in time"
    if transaction.state is State.OPEN and transaction.damage:
        return "cannot be told"
    if transaction.state is State.OPEN:
        return "being written now" if status.writer_runs else "ended before its first change"
    if transaction.state is State.UNDONE:
        return f"undone ({safe(transaction.undone_why) or 'no reason was given'})"
    return _standing(status)


def _standing(status: TransactionStatus) -> str:
    transaction = status.transaction
    if transaction.on_trial:
        return "a trial runs: it stands until that ends, and on only if the verdict is to keep it"
    if transaction.awaits_confirmation and transaction.deadline is not None:
        return f"undone at {moment(transaction.deadline.at_ns)} unless it is confirmed"
    return "drifted" if status.drifted else "stands"


def _row(status: EntryStatus) -> tuple[str, str, str, str]:
    how = _WORDS[status.standing]
    if status.detail:
        how += f": {safe(status.detail, LONGEST_DETAIL)}"
    unseen = "not looked at" if status.standing is Standing.NOT_OURS else UNKNOWN
    now = unseen if status.now is None else value(status.now)
    return safe(status.where), value(status.entry.new), now, how


def _next(report: StatusReport, status: TransactionStatus) -> Iterator[Block]:
    number = " ".join(filter(None, (str(status.transaction.id), safe(report.options, LONGEST_LINE))))
    lines: list[str] = []
    if status.transaction.awaits_confirmation and status.transaction.id not in report.overdue:
        lines.append(f"Keep it: tuneagent confirm {number}")
    if status.transaction.stands and not (status.transaction.on_trial and status.writer_runs):
        lines.append(f"Give it back: tuneagent rollback {number}")
    if status.drifted and status.transaction.command:
        lines.append(f"Apply it again: {safe(status.transaction.command, LONGEST_LINE)}")
    if lines:
        yield Lines(tuple(lines), indent=2)

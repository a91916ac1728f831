"""Transactions for people: when, by whom, and a row for each change with what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from tuneagent.model.transaction import Effect, Entry, Lasts, Outcome, Transaction
from tuneagent.report.document import Table
from tuneagent.report.safe import safe
from tuneagent.report.values import UNKNOWN, plural

LONGEST_VALUE = 120
"""Characters of a value in a table; a line that bans a thousand interrupts is in the JSON."""
LONGEST_DETAIL = 600
_LATEST_NS = 253_402_300_799 * 10**9
"""The last second of the year 9999, where datetime ends."""
_WORDS = {
    Outcome.INTENDED: "announced; whether it was written is not known",
    Outcome.CHANGED: "changed",
    Outcome.LEFT_ALONE: "left alone",
    Outcome.DEFERRED: "not now",
    Outcome.GONE: "not there",
    Outcome.FAILED: "FAILED",
    Outcome.GIVEN_BACK: "given back",
    Outcome.YIELDED: "left to whoever changed it since",
    Outcome.STUCK: "STUCK: still ours",
    Outcome.ENDED: "ended by itself",
}
_EFFECTS = {
    Effect.VERIFIED: "in effect",
    Effect.CONTRADICTED: "NOT in effect",
    Effect.NOT_YET: "not yet in effect",
}
LASTS = {
    Lasts.BOOT: "until the next boot, or until the device is probed again",
    Lasts.THREAD: "until the thread ends, so until the virtual machine's next start",
    Lasts.PROCESS: "until the daemon that holds it ends or is restarted",
    Lasts.STORED: "until somebody changes it",
}


def moment(ns: int | None) -> str:
    """A CLOCK_REALTIME time; in UTC, for logs of several machines lie side by side at night."""
    if ns is None or not 0 <= ns <= _LATEST_NS:
        return UNKNOWN
    return f"{datetime.fromtimestamp(ns // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"


def clock(ns: int) -> str:
    """The same without its day."""
    return moment(ns).partition(" ")[2] or UNKNOWN


def value(text: str) -> str:
    """A value in a table; an empty one is a word."""
    return safe(text, LONGEST_VALUE) or "(nothing)"


def became(entry: Entry) -> str:
    """What became of a change, and the numbers or the reason."""
    words = [_WORDS[entry.outcome]]
    if entry.outcome is Outcome.CHANGED and entry.effect is not None:
        words[0] = f"changed, {_EFFECTS[entry.effect]}"
    detail = entry.effect_detail if entry.outcome is Outcome.CHANGED else entry.detail
    if detail:
        words.append(safe(detail, LONGEST_DETAIL))
    return ": ".join(words)


def written(entries: Iterable[Entry]) -> Table:
    """A row a change, as it was made."""
    rows = tuple((safe(one.where), value(one.old), value(one.new), became(one)) for one in entries)
    return Table(("what", "old", "new", "what became of it"), rows)


def given_back(entries: Iterable[Entry]) -> Table:
    """A row a change, last one first, as it was taken back."""
    rows = tuple((safe(one.where), value(one.new), value(one.old), became(one)) for one in reversed(tuple(entries)))
    return Table(("what", "was", "before", "what became of it"), rows)


def counted(entries: Iterable[Entry]) -> str:
    """``8 changes made, 2 left alone``; in the order of the outcomes' table."""
    counts = Counter(one.outcome for one in entries)
    words = {
        Outcome.CHANGED: "made",
        Outcome.GIVEN_BACK: "given back",
        Outcome.YIELDED: "left to whoever changed them since",
        Outcome.ENDED: "ended by themselves",
        Outcome.LEFT_ALONE: "left alone",
        Outcome.DEFERRED: "not possible now",
        Outcome.GONE: "not there any more",
        Outcome.INTENDED: "of unknown outcome",
        Outcome.FAILED: "failed",
        Outcome.STUCK: "stuck",
    }
    parts = [f"{counts[outcome]:,} {word}" for outcome, word in words.items() if counts[outcome]]
    if not parts:
        return "no change"
    first, *rest = parts
    number, _, word = first.partition(" ")
    return ", ".join((f"{plural(int(number.replace(',', '')), 'change')} {word}", *rest))


def who(transaction: Transaction) -> str:
    """When it began, by whom and with which command line; what is not known is left out."""
    parts = [moment(transaction.began_ns)]
    if transaction.writer is not None:
        parts.append(f"by {safe(transaction.writer.user)}")
    if transaction.command:
        parts.append(f"`{safe(transaction.command)}`")
    return ", ".join(parts)

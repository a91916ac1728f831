"""Everything that one apply, confirm, rollback or status has to say, before it is put into words or keys."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuneagent.model.plan import Change, Declined
from tuneagent.model.transaction import Outcome, Transaction, TransactionStatus


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change, the policy that asks for it (empty: none is named), and what it is about."""

    policy: str
    subject: str
    change: Change


class Command(StrEnum):
    """What was asked for."""

    APPLY = "apply"
    CHECK = "check"
    CONFIRM = "confirm"
    ROLLBACK = "rollback"


class Result(StrEnum):
    """What came of it, in one word."""

    APPLIED = "applied"
    ALREADY_SO = "already-so"
    """All that was asked for stands there; nothing was written."""
    DECLINED = "declined"
    """There is nothing that can be done here; nothing was written."""
    WOULD_CHANGE = "would-change"
    """Only looked: an apply would write."""
    FAILED = "failed"
    """A change failed, and all was given back."""
    STUCK = "stuck"
    """Something is still ours and could not be given back."""
    CONFIRMED = "confirmed"
    UNDONE = "undone"
    """All that was still ours was given back."""
    TOO_LATE = "too-late"
    """It was to be confirmed, and is undone already."""
    NOTHING = "nothing"
    """There was nothing to confirm or to give back."""


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """The input of the writers of an apply, a confirm and a rollback."""

    version: str
    origin: str
    """``this machine``, or the tree."""
    command: Command
    result: Result
    reason: str = ""
    """Why it failed, or why there was nothing to do; empty otherwise."""
    planned: tuple[PlannedChange, ...] = ()
    """What would be changed; of a check only."""
    transactions: tuple[Transaction, ...] = ()
    """What was written, confirmed or given back, in the order of doing."""
    recovered: tuple[Transaction, ...] = ()
    """Left in the middle by an earlier run, and undone before anything else."""
    declined: tuple[Declined, ...] = ()
    notes: tuple[str, ...] = ()
    options: str = ""
    """What a later command needs to mean the same machine: ``--sysroot DIR``; empty for this one."""

    @property
    def changed(self) -> bool:
        """Whether the machine is now another than before, or would be after a check."""
        if self.command is Command.CHECK:
            return bool(self.planned)
        wrote = Outcome.CHANGED if self.command is Command.APPLY else Outcome.GIVEN_BACK
        made = () if self.command is Command.CONFIRM else self.transactions
        return self.result is Result.STUCK or _any(made, wrote) or _any(self.recovered, Outcome.GIVEN_BACK)


def _any(transactions: tuple[Transaction, ...], outcome: Outcome) -> bool:
    return any(entry.outcome is outcome for one in transactions for entry in one.entries)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The input of the writers of a status."""

    version: str
    origin: str
    directory: str
    """Where the journals are."""
    transactions: tuple[TransactionStatus, ...]
    """Oldest first."""
    overdue: frozenset[int] = frozenset()
    """Ids of those that nobody confirmed in time."""
    closed: tuple[int, ...] = ()
    """Ids of those that were given back whole and are not among ``transactions``, in their order."""
    notes: tuple[str, ...] = ()
    options: str = ""
    """As in ApplyReport."""

    @property
    def due(self) -> tuple[int, ...]:
        """Ids of those to be undone, newest first: left in the middle, or not confirmed in time."""
        every = (one for one in self.transactions if one.interrupted or one.transaction.id in self.overdue)
        return tuple(sorted((one.transaction.id for one in every), reverse=True))

    @property
    def drifted(self) -> bool:
        """Whether a change stands there no more, by somebody else's hand."""
        return any(one.drifted for one in self.transactions)

    @property
    def damaged(self) -> bool:
        """Whether a journal cannot be trusted."""
        return any(one.transaction.damage for one in self.transactions)

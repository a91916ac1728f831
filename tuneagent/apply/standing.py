"""How the changes of a transaction stand now, looked up again by what identifies them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tuneagent.apply.actuator import Actuator, Place, Refusal, Why
from tuneagent.apply.transaction import Key, key_of
from tuneagent.apply.undo import has_ended
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import (
    Effect,
    Entry,
    EntryStatus,
    Outcome,
    Standing,
    State,
    Transaction,
    TransactionStatus,
)

LastChange = tuple[int, Entry]
"""The transaction that changed a target last, and how."""


class Look:
    """Reads what stands there; writes nothing."""

    def __init__(self, actuators: Mapping[TunableKind, Actuator], boot_id: str | None) -> None:
        self._actuators = actuators
        self._boot_id = boot_id

    def at(
        self, transaction: Transaction, since: Mapping[Key, LastChange] | None = None, *, writer_runs: bool = False
    ) -> TransactionStatus:
        """The transaction's changes against what stands there; ``since``: who changed the same after it."""
        entries = tuple(self._status(entry, transaction, since or {}) for entry in transaction.entries)
        return TransactionStatus(transaction, entries, writer_runs)

    def at_each(
        self, transactions: Sequence[Transaction], writer_runs: Callable[[Transaction], bool]
    ) -> tuple[TransactionStatus, ...]:
        """All of them, which come oldest first, each with the ones behind it as the later ones."""
        since: dict[Key, LastChange] = {}
        found: list[TransactionStatus] = []
        for one in reversed(transactions):
            found.append(self.at(one, since, writer_runs=writer_runs(one)))
            since = last_of_each(one) | since
        return tuple(reversed(found))

    def _status(self, entry: Entry, transaction: Transaction, since: Mapping[Key, LastChange]) -> EntryStatus:
        if not entry.may_stand or transaction.state is State.UNDONE:
            return EntryStatus(entry, Standing.NOT_OURS, None, entry.where, entry.detail)
        if has_ended(entry, transaction, self._boot_id):
            return EntryStatus(entry, Standing.ENDED, None, entry.where, "ended by a reboot")
        actuator = self._actuators.get(entry.kind)
        if actuator is None:
            return EntryStatus(entry, Standing.UNKNOWN, None, entry.where, f"this version cannot read {entry.kind}")
        try:
            place = actuator.locate(entry.kind, entry.target)
            now = actuator.read(place)
        except Refusal as refusal:
            standing = Standing.GONE if refusal.why is Why.GONE else Standing.UNKNOWN
            return EntryStatus(entry, standing, None, entry.where, refusal.detail)
        return _compared(entry, actuator, place, now, since.get(key_of(entry.kind, entry.target)))


def _compared(entry: Entry, actuator: Actuator, place: Place, now: str, since: LastChange | None) -> EntryStatus:
    if actuator.same(now, entry.new):
        return _in_force(entry, actuator, place, now)
    if since is not None and actuator.same(now, since[1].new):
        detail = f"transaction {since[0]} set it since"
        return EntryStatus(entry, Standing.NOT_OURS, now, place.where, detail)
    standing = Standing.BACK if actuator.same(now, entry.old) else Standing.DRIFTED
    return EntryStatus(entry, standing, now, place.where, actuator.meddler(place, entry.new, now))


def _in_force(entry: Entry, actuator: Actuator, place: Place, now: str) -> EntryStatus:
    try:
        seen = actuator.effect(place, entry.new, None)
    except Refusal as refusal:
        return EntryStatus(entry, Standing.NOT_YET, now, place.where, refusal.detail)
    standing = Standing.IN_FORCE if seen.effect is Effect.VERIFIED else Standing.NOT_YET
    return EntryStatus(entry, standing, now, place.where, seen.detail)


def last_of_each(transaction: Transaction) -> dict[Key, LastChange]:
    """What it changed last of each target; nothing where it was given back."""
    if transaction.state is State.UNDONE:
        return {}
    changed = (entry for entry in transaction.entries if entry.outcome is Outcome.CHANGED)
    return {key_of(entry.kind, entry.target): (transaction.id, entry) for entry in changed}


def facts(transactions: Sequence[Transaction], boot_id: str | None) -> dict[Key, str]:
    """What was found unchangeable since this boot, with the reason and the transaction that found it."""
    return {
        key_of(entry.kind, entry.target): f"{entry.detail} (found by transaction {transaction.id})"
        for transaction in transactions
        if boot_id is not None and transaction.boot_id == boot_id
        for entry in transaction.entries
        if entry.outcome is Outcome.LEFT_ALONE
    }

"""What one apply did: its changes, what became of each, and how far it can be taken back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuneagent.model.plan import Target, TunableKind


class Lasts(StrEnum):
    """What ends a change by itself."""

    BOOT = "boot"
    """The kernel's memory: the next boot, or the device's next probe."""
    THREAD = "thread"
    """A thread's own property: its end, and so the next start of the virtual machine."""
    PROCESS = "process"
    """A daemon's memory: its end, and so a restart of its service."""
    STORED = "stored"
    """A file or a stored definition: nothing."""


class Effect(StrEnum):
    """Whether what was written is what happens."""

    VERIFIED = "verified"
    CONTRADICTED = "contradicted"
    NOT_YET = "not-yet"
    """Nothing has happened since that would show it: an idle interrupt moves with its next one only."""


class Outcome(StrEnum):
    """What became of one change."""

    INTENDED = "intended"
    """Announced, and nothing more is known: the agent ended then. It may have been written or not."""
    CHANGED = "changed"
    LEFT_ALONE = "left-alone"
    """A fact of the machine, no failure: a managed interrupt, a device without this setting."""
    DEFERRED = "deferred"
    """Not now: the kernel was busy or had no room. The next apply tries again."""
    GONE = "gone"
    """What was to be changed is not there any more."""
    FAILED = "failed"
    """Refused; then the whole transaction is undone."""
    GIVEN_BACK = "given-back"
    """The old value was written again, or was there already."""
    YIELDED = "yielded"
    """Somebody else changed it since, and it is left as they want it."""
    STUCK = "stuck"
    """It is still ours and could not be given back; another rollback tries again."""
    ENDED = "ended"
    """It ended by itself: a reboot, the end of a thread, a device that was taken away."""


class State(StrEnum):
    """Of a whole transaction."""

    OPEN = "open"
    """Neither committed nor undone: its writer runs, or ended in the middle."""
    COMMITTED = "committed"
    UNDONE = "undone"
    """All that was still ours was given back."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that the kernel rewrites by itself when the change is made, to be put back after it is undone."""

    kind: TunableKind
    target: Target
    where: str
    value: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of a transaction."""

    index: int
    policy: str
    """Name of the policy that asked for it; empty for one out of a plan file."""
    kind: TunableKind
    target: Target
    where: str
    """Where it was when it was changed, for people."""
    old: str
    """As it was read just before."""
    new: str
    why: str
    lasts: Lasts
    kept: tuple[Kept, ...] = ()
    outcome: Outcome = Outcome.INTENDED
    detail: str = ""
    """Of the outcome: a reason, what stands there now."""
    effect: Effect | None = None
    """None where it was not looked at."""
    effect_detail: str = ""
    previous: str = ""
    """The whole stored definition before, where it is one."""
    tried: bool = True
    """Whether a write was tried; without one there is no old value, and nothing to give back."""

    @property
    def may_stand(self) -> bool:
        """Whether it may still stand as we wrote it, so that an undo has to look at it.

        A failed one too: an errno does not say that nothing was written.
        """
        return self.outcome in {Outcome.INTENDED, Outcome.CHANGED, Outcome.FAILED, Outcome.STUCK}


@dataclass(frozen=True, slots=True)
class Keeper:
    """The guardian process that waits for a deadline."""

    pid: int
    start_ticks: int
    """Field 22 of /proc/PID/stat: numbers of processes come again."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Until when it must be confirmed, or it is undone."""

    at_ns: int
    """CLOCK_REALTIME, for people."""
    at_boottime_ns: int
    """CLOCK_BOOTTIME, which counts on over a suspend and cannot be set."""
    seconds: float
    keeper: Keeper | None = None
    """None where it could not be seen; then it waits on when nothing is left to wait for."""


@dataclass(frozen=True, slots=True)
class Writer:
    """The process that made a transaction."""

    pid: int
    start_ticks: int | None
    """Field 22 of /proc/PID/stat: numbers of processes come again."""
    user: str
    """``root``, or ``root (sudo: alice)``."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """One apply, as its journal tells it."""

    id: int
    began_ns: int | None
    """CLOCK_REALTIME; None where its journal is damaged so far up that not even this can be told."""
    boot_id: str | None
    version: str
    writer: Writer | None
    """None as above."""
    command: str
    """The command line, for people."""
    entries: tuple[Entry, ...]
    state: State
    deadline: Deadline | None = None
    confirmed: bool = False
    undone_why: str = ""
    """``asked``, ``not confirmed``, ``interrupted``, ``failed: …``; empty where nothing was undone."""
    damage: str = ""
    """Why its journal cannot be trusted, with file and line; empty where it can."""
    provisional: bool = False
    """Whether it stands only as long as its writer runs, unless it is confirmed: what a trial tries."""

    @property
    def on_trial(self) -> bool:
        """Whether it stands, and is undone as soon as its writer is gone."""
        committed = self.state is State.COMMITTED and self.provisional and not self.confirmed
        return committed and any(entry.may_stand for entry in self.entries)

    @property
    def half_undone(self) -> bool:
        """Whether an undo ended in the middle: what it looked at and could not give back is stuck, and no more due."""
        unseen = {Outcome.INTENDED, Outcome.CHANGED, Outcome.FAILED}
        return bool(self.undone_why and self.stands) and any(entry.outcome in unseen for entry in self.entries)

    @property
    def awaits_confirmation(self) -> bool:
        """Whether it stands and will be undone unless somebody confirms it."""
        return self.state is State.COMMITTED and self.deadline is not None and not self.confirmed

    @property
    def stands(self) -> bool:
        """Whether there may be something of it to give back; where it ended before its first change there is not.

        Of an undone one there is nothing, whatever its changes say: a full disk may have had room for its end only.
        """
        if self.state is State.OPEN:
            return bool(self.entries or self.damage)
        return self.state is State.COMMITTED and any(entry.may_stand for entry in self.entries)


class Standing(StrEnum):
    """How one change stands now, against what was written."""

    IN_FORCE = "in-force"
    NOT_YET = "not-yet"
    """Written, and not in effect yet: an idle interrupt, a stored definition before the next start."""
    DRIFTED = "drifted"
    """Something else stands there now."""
    BACK = "back"
    """The old value stands there again."""
    GONE = "gone"
    """The device, thread or definition is not there."""
    ENDED = "ended"
    """A reboot ended it."""
    UNKNOWN = "unknown"
    """It could not be read."""
    NOT_OURS = "not-ours"
    """It was left alone, or given up to somebody else's later change."""


@dataclass(frozen=True, slots=True)
class EntryStatus:
    """One change, and how it stands now."""

    entry: Entry
    standing: Standing
    now: str | None
    """The value that stands there; None where it could not be read."""
    where: str
    """Where it is now: numbers and names are looked up again."""
    detail: str = ""
    """By whom it was changed, where that is known; why it could not be read."""


@dataclass(frozen=True, slots=True)
class TransactionStatus:
    """One transaction and how its changes stand."""

    transaction: Transaction
    entries: tuple[EntryStatus, ...]
    writer_runs: bool
    """Whether the process that writes it is still there."""

    @property
    def interrupted(self) -> bool:
        """Whether it was left in the middle, of its writing, its trial or its undo: an undo is due.

        Not where its journal is damaged: no undo can be made of it.
        """
        one = self.transaction
        if one.damage:
            return False
        unfinished = one.on_trial or one.half_undone or (one.state is State.OPEN and one.stands)
        return unfinished and not self.writer_runs

    @property
    def drifted(self) -> bool:
        """Whether a change of it stands there no more, by somebody else's hand."""
        standings = {Standing.DRIFTED, Standing.BACK, Standing.GONE}
        return self.transaction.state is State.COMMITTED and any(one.standing in standings for one in self.entries)

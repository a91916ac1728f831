"""Whoever gives a transaction back when its process cannot: a guardian process, and a timer of systemd's."""

from __future__ import annotations

import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tuneagent.app import writer_process
from tuneagent.machine import deadline
from tuneagent.machine.guardian import NAME, Guardian
from tuneagent.machine.state_directory import DEFAULT
from tuneagent.model.errors import SourceError
from tuneagent.model.transaction import Deadline


@dataclass(frozen=True, slots=True)
class Place:
    """The options that say which transactions are meant."""

    tree: Path | None
    state: Path | None

    def undo_command(self, number: int | None) -> tuple[str, ...]:
        """The command that gives a transaction back if that is due, from any directory; None: all that are due."""
        which = () if number is None else (str(number),)
        return (sys.executable, "-m", "tuneagent", "rollback", *which, "--due", *self.options)

    @property
    def options(self) -> tuple[str, ...]:
        """The same as words of a command line."""
        tree = () if self.tree is None else ("--sysroot", str(self.tree.absolute()))
        state = () if self.state is None else ("--state", str(self.state.absolute()))
        return (*tree, *state)

    def unit(self, number: int) -> str:
        """The name of the timer; numbers are one directory's own."""
        where = f"{self.tree and self.tree.absolute()}:{self.state and self.state.absolute()}"
        usual = self.tree is None and (self.state is None or str(self.state.absolute()) == DEFAULT)
        return f"tuneagent-rollback-{number}" + ("" if usual else f"-{zlib.crc32(where.encode()):08x}")


@dataclass(slots=True)
class Watch:
    """Over one transaction, from before its first change on."""

    place: Place
    number: int
    notes: list[str] = field(default_factory=list)
    """What keeps it from being given back in every case."""
    _guardian: Guardian | None = None

    def begin(self, until: Deadline | None, *, every: bool = False) -> Deadline | None:
        """From now on the end of this process undoes what is not committed, and the deadline what is not confirmed.

        With ``every`` it undoes all that is due, newest first: several may stand on one another and on this process.
        Gives back the deadline with who keeps it. OSError where no process can be made.
        """
        again_ns = None if until is None else until.at_boottime_ns
        self._guardian = Guardian(self.place.undo_command(None if every else self.number), again_ns=again_ns)
        return None if until is None else replace(until, keeper=writer_process.keeper(self._guardian.pid))

    def keep(self, until: Deadline, *, timer: bool) -> None:
        """It is committed, and undone at this moment unless somebody confirms it; by a timer too, on this machine."""
        kept = self._kept_by_guardian(until)
        timed = timer and self._kept_by_timer(until)
        if not (kept or timed):
            self.notes.append("nobody is left to undo it at its deadline: `tuneagent rollback` does it by hand")

    def release(self) -> None:
        """There is nothing to give back any more."""
        if self._guardian is not None:
            self._guardian.release()

    def _kept_by_guardian(self, until: Deadline) -> bool:
        if self._guardian is None:
            return False
        try:
            self._guardian.keep_until(until.at_boottime_ns)
        except OSError:  # somebody killed it
            return False
        self._guardian.close()
        return True

    def _kept_by_timer(self, until: Deadline) -> bool:
        try:
            return deadline.arm(self.place.unit(self.number), until.seconds, self.place.undo_command(self.number))
        except SourceError as error:
            self.notes.append(f"systemd would not take the deadline, the guardian process has it alone: {error}")
            return False


def call_off(place: Place, number: int, until: Deadline, *, timer: bool) -> None:
    """Guardian and timer have nothing to do any more; where one cannot be stopped it finds that out by itself."""
    if until.keeper is not None:
        writer_process.end(until.keeper, NAME)
    if timer:
        with suppress(SourceError):
            deadline.disarm(place.unit(number))

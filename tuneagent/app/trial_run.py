"""One trial: its rounds in the store as they end, the verdict, and the machine kept so or given back by it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tuneagent import __version__
from tuneagent.app.signals import Interruptions
from tuneagent.app.switching import Switching
from tuneagent.measure.rounds import Hands, Measured, Outcome, Progress, RoundError, conduct, nobody
from tuneagent.model.trial import Decision, Question, Round, Trial, TrialState
from tuneagent.record.errors import StoreError
from tuneagent.record.store import Store

KEEPS = ("auto", "always", "never")
AS_BEFORE = "the machine is as before"
_NOT_KEPT = "the verdict is to keep the changes, and they could not be kept"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the trials of one command have in common."""

    store: Store
    interruptions: Interruptions
    keep: str
    """``auto``: by the verdict; ``always``, ``never``."""
    progress: Callable[[Progress], None] = nobody
    in_time: Callable[[], bool] = lambda: True
    """Whether there is time for another pair of rounds."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What one trial measures, and with what."""

    question: Question
    facts: dict[str, str]
    measure: Callable[[float], Measured]


def run(bench: Bench, switching: Switching, conditions: Conditions, *, confirm: bool = True) -> Trial:
    """The trial as it is stored. Whatever ends it, the machine is as before, unless its changes were kept.

    Without ``confirm`` the changes of a winner stand as long as this process runs: who calls decides what becomes of
    them. An interrupt, and a fault of the program, is raised on once the machine is as before and the record says so.
    """
    one = _Running(bench, switching, conditions)
    try:
        outcome = conduct(bench.question, one.hands())
    except BaseException as error:
        one.ended_by(error)
        raise
    return one.concluded(outcome, confirm=confirm)


class _Running:
    """One trial, from its beginning in the store to its end there."""

    def __init__(self, bench: Bench, switching: Switching, conditions: Conditions) -> None:
        self._bench, self._switching, self._conditions = bench, switching, conditions
        begun = Trial(
            id=0,
            began_ns=time.time_ns(),
            ended_ns=None,
            version=__version__,
            question=bench.question,
            facts=bench.facts,
            rounds=(),
            state=TrialState.RUNNING,
        )
        self._trial = replace(begun, id=conditions.store.begin(begun))

    def hands(self) -> Hands:
        """What measures and switches."""
        return Hands(
            switch=self._switching.switch,
            measure=self._measure,
            wait=time.sleep,
            now_ns=time.time_ns,
            restore=self._switching.restore,
            record=self._record,
            progress=self._conditions.progress,
            in_time=self._conditions.in_time,
        )

    def _measure(self, seconds: float) -> Measured:
        """A round, at whose end its state still stands: what is fought over is no state. RoundError where it is not."""
        found = self._bench.measure(seconds)
        if meddled := self._switching.meddled():
            raise RoundError(meddled)
        return found

    def _record(self, one: Round) -> None:
        try:
            self._conditions.store.add_round(self._trial.id, one)
        except StoreError as error:
            raise RoundError(f"the round could not be stored: {error}") from error

    def ended_by(self, error: BaseException) -> None:
        """The record of what did not come to a verdict; what was put back, or not, is in the error's notes."""
        reason = str(error) or type(error).__name__
        why = "; ".join((reason, *getattr(error, "__notes__", ())))
        self._finish(replace(self._trial, state=TrialState.FAILED, kept=self._stands(), why=why), quietly=True)

    def concluded(self, outcome: Outcome, *, confirm: bool) -> Trial:
        """The verdict is carried out, and recorded with what became of the changes."""
        self._conditions.interruptions.ignore()
        ended = replace(
            self._trial, rounds=outcome.rounds, state=outcome.state, verdict=outcome.verdict, why=outcome.why
        )
        if outcome.state is TrialState.FAILED:
            ended = replace(ended, kept=self._stands())
        else:
            ended = self._carried_out(ended, confirm=confirm)
        return self._finish(ended)

    def _carried_out(self, trial: Trial, *, confirm: bool) -> Trial:
        try:
            if not self._wanted(trial):
                self._switching.restore()
                return replace(trial, kept=False)
            if confirm:
                return replace(trial, kept=True, transaction=self._switching.keep())
            self._switching.hold()
            return replace(trial, kept=True, transaction=self._switching.standing)
        except (RoundError, OSError) as error:
            stands = self._stands()
            why = f"{_NOT_KEPT}: {error}" if self._wanted(trial) else str(error)
            return replace(trial, state=TrialState.FAILED, kept=stands, why=why)

    def _wanted(self, trial: Trial) -> bool:
        if self._conditions.keep == "auto":
            return trial.verdict is not None and trial.verdict.decision is Decision.KEEP
        return self._conditions.keep == "always"

    def _stands(self) -> bool:
        return self._switching.standing is not None

    def _finish(self, trial: Trial, *, quietly: bool = False) -> Trial:
        ended = replace(trial, ended_ns=max(time.time_ns(), trial.began_ns))
        try:
            self._conditions.store.finish(ended)
        except StoreError as error:
            if not quietly:
                left = f"the trial has ended, {self._left(ended)}"
                raise StoreError(error.path, f"{error.detail}; {left}", error.trouble) from error
        return ended

    def _left(self, ended: Trial) -> str:
        if not ended.kept:
            return AS_BEFORE
        held = ended.state is TrialState.DONE and self._stands()
        return "its changes stand as long as this process" if held else "its changes stand"

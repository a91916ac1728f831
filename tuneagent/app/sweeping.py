"""``sweep``, from the first look to the curve."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from tuneagent import __version__
from tuneagent.app import exits, trial_progress, trialling
from tuneagent.app.denied import Denied
from tuneagent.app.switching import Switching
from tuneagent.app.trialling import Setting
from tuneagent.measure import sweeping
from tuneagent.measure.rounds import Measured, RoundError, round_of
from tuneagent.measure.verdict import judge
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.nic import Nic
from tuneagent.model.sweep import Sweep
from tuneagent.model.trial import Arm, Question, Round, Trial, TrialState
from tuneagent.observe import snapshot as observe
from tuneagent.plan import sweepable
from tuneagent.record.errors import StoreError
from tuneagent.record.store import Store

if TYPE_CHECKING:
    from tuneagent.app.trial import Options
    from tuneagent.app.trial_load import AskedLoad
    from tuneagent.app.trial_options import Wishes

SUBJECT_OF_THE_HOST = "machine"


@dataclass(frozen=True, slots=True)
class Swept:
    """What is swept."""

    name: str
    values: tuple[str, ...]


def run(load: AskedLoad, wishes: Wishes, chosen: Options, what: Swept) -> int:
    """The exit code; what stops it before anything is touched is a ClickException."""
    with trialling.setting(load, wishes, chosen) as made:
        nic = _nic(made, chosen, what.name)
        switchings = {value: _switching(made, what.name, value, nic) for value in what.values}
        for one in switchings.values():
            trialling.guarded(made, one, in_container=chosen.ask.in_container)
        told = _measured(made, chosen, what, switchings)
    _tell(told, as_json=chosen.as_json, color=chosen.color)
    return exits.FAILED if told.why else exits.DONE


def _tell(told: Sweep, *, as_json: bool, color: str) -> None:
    from tuneagent.app import output
    from tuneagent.report import sweep_text

    if as_json:
        output.emit_json(sweep_text.to_json(told))
    else:
        output.emit(sweep_text.document(told), color)


def _nic(made: Setting, chosen: Options, name: str) -> Nic | None:
    """The interface that is meant; None for a setting of the machine. UsageError where it cannot be told."""
    if not sweepable.is_of_a_nic(name):
        return None
    seen = observe(made.source, None)
    there = {nic.name: nic for nic in seen.nics or ()}
    names = chosen.ask.nics or tuple(nic.name for nic in seen.virtio_nics)
    if len(names) != 1:
        raise click.UsageError(f"{name} is of one interface: name it by --on; there are: {', '.join(there) or 'none'}")
    nic = there.get(names[0])
    if nic is None:
        raise click.UsageError(f"no interface {names[0]!r} here; there are: {', '.join(there) or 'none'}")
    return nic


def _switching(made: Setting, name: str, value: str, nic: Nic | None) -> Switching:
    subject = nic.name if nic is not None else SUBJECT_OF_THE_HOST
    planned = (PlannedChange("", subject, sweepable.change(name, value, nic)),)
    return Switching(
        made.site, lambda: planned, made.conditions.interruptions, made.typed, trialling.BOUNDS, may_be_so=True
    )


def _measured(made: Setting, chosen: Options, what: Swept, switchings: Mapping[str, Switching]) -> Sweep:
    first = next(iter(switchings.values()))
    bench = trialling.bench(made, first.tried, (), (chosen.ask.nics, chosen.ask.domains), what.name)
    plan = _plan(what, bench.question)
    records = _Records(made.conditions.store, bench.question, bench.facts, what, switchings)
    switch = _Switch(switchings)
    progress = trial_progress.swept(what.name)
    hands = sweeping.SweepHands(switch, bench.measure, time.sleep, switch.restore, records.add, progress)
    try:
        outcome = sweeping.conduct(plan, hands)
    except BaseException as error:
        records.finish("; ".join((str(error) or type(error).__name__, *getattr(error, "__notes__", ()))))
        raise
    finally:
        trial_progress.clear()
    records.finish(outcome.why)
    return Sweep(
        version=__version__,
        name=what.name,
        subject=bench.question.subject,
        metric=plan.metric,
        blocks=len(outcome.blocks),
        points=sweeping.curve(plan, outcome.blocks),
        knee=sweeping.knee(plan, outcome.blocks),
        trials=records.numbers,
        why=outcome.why,
        put_back=outcome.put_back,
    )


def _plan(what: Swept, question: Question) -> sweeping.Plan:
    return sweeping.Plan(
        values=what.values,
        metric=question.primary,
        better=question.better,
        blocks=question.pairs_max,
        round_s=question.round_s,
        settle_s=question.settle_s,
        seed=question.seed,
    )


class _Switch:
    """From any value to any other: what stands is given back before the next is set."""

    def __init__(self, switchings: Mapping[str, Switching]) -> None:
        self._switchings = switchings
        self._now: Switching | None = None

    def __call__(self, value: str) -> None:
        wanted = self._switchings[value]
        if self._now is wanted:
            return
        if self._now is not None:
            self._now.switch(Arm.A)
        self._now = wanted
        wanted.switch(Arm.B)

    def restore(self) -> None:
        """All as it was."""
        if self._now is not None:
            self._now.restore()


class _Records:
    """Each value but the first as a trial against the first, whose rounds are in all of them."""

    def __init__(
        self,
        store: Store,
        question: Question,
        facts: dict[str, str],
        what: Swept,
        switchings: Mapping[str, Switching],
    ) -> None:
        self._store, self._first, self._switchings = store, what.values[0], switchings
        self._trials: dict[str, Trial] = {}
        self._rounds: dict[str, list[Round]] = {value: [] for value in what.values[1:]}
        for value in what.values[1:]:
            asked = replace(
                question,
                policy=f"sweep {what.name}={value}",
                title=f"{what.name} {value} against {self._first}",
                changes=tuple(one.change for one in switchings[value].tried),
            )
            begun = Trial(0, time.time_ns(), None, __version__, asked, facts, (), TrialState.RUNNING)
            self._trials[value] = replace(begun, id=store.begin(begun))

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of the trials in the store."""
        return tuple(one.id for one in self._trials.values())

    def add(self, value: str, block: int, found: Measured) -> None:
        """A round, in the trial of its value; those of the first value in all. RoundError where it cannot be stored."""
        arm = Arm.A if value == self._first else Arm.B
        began_ns = max(0, time.time_ns() - int(found.seconds * 1e9))
        try:
            for other in self._trials if arm is Arm.A else (value,):
                one = round_of(len(self._rounds[other]) + 1, block, arm, began_ns, found)
                self._rounds[other].append(one)
                self._store.add_round(self._trials[other].id, one)
        except StoreError as error:
            raise RoundError(f"the round could not be stored: {error}") from error

    def finish(self, why: str) -> None:
        """All of them end; Denied where that cannot be stored, and the machine is as before then."""
        state = TrialState.FAILED if why else TrialState.DONE
        try:
            for value, trial in self._trials.items():
                rounds = tuple(self._rounds[value])
                verdict = None if why else judge(trial.question, rounds)
                stands = self._switchings[value].standing is not None  # it could not be given back
                ended = replace(trial, ended_ns=time.time_ns(), rounds=rounds, state=state, verdict=verdict, why=why)
                self._store.finish(replace(ended, kept=stands))
        except StoreError as error:
            if not why:
                raise Denied(f"{error}; the sweep has ended, and the machine is as before") from error

"""``tune``, from the look under load to the record of what stands."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING

import click

from tuneagent import __version__, rates
from tuneagent.app import (
    exits,
    policy_files,
    trial_load,
    trial_place,
    trial_progress,
    trial_scope,
    trialling,
    tuning_scope,
)
from tuneagent.app.applying import Ask, Planner, as_meant
from tuneagent.app.denied import Denied
from tuneagent.app.switching import Switching
from tuneagent.app.trialling import Setting
from tuneagent.diagnose import diagnose
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.measure import tuning
from tuneagent.measure.rounds import RoundError
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.plan import Advice, Plan
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.trial import Decision, Trial, TrialState
from tuneagent.model.tuning import Attempt, Tried, Tuning
from tuneagent.model.view import View
from tuneagent.observe import snapshot as observe
from tuneagent.plan.solve import plan
from tuneagent.report import tuning_text
from tuneagent.report.trial_words import why as why_of

if TYPE_CHECKING:
    from tuneagent.app.trial import Options
    from tuneagent.app.trial_load import AskedLoad
    from tuneagent.app.trial_options import Wishes

SWITCH_S = 2.0
"""That a switch and the load's own warming up take beside a round, until a trial has shown what they do take."""


@dataclass(slots=True)
class _Winner:
    """Changes that are proven, and stand as long as this process."""

    place: int
    """Of its attempt."""
    planner: Planner
    switching: Switching


def run(load: AskedLoad, wishes: Wishes, chosen: Options, budget_s: float) -> int:
    """The exit code; what stops it before anything is touched is a ClickException."""
    with trialling.setting(load, wishes, chosen) as made:
        try:
            told = _Tuning(made, chosen.ask, budget_s).run()
        except RoundError as error:
            raise Denied("; ".join((str(error), *getattr(error, "__notes__", ())))) from error
    _tell(told, as_json=chosen.as_json, color=chosen.color)
    return exits.FAILED if told.why else exits.DONE


def _tell(told: Tuning, *, as_json: bool, color: str) -> None:
    from tuneagent.app import output

    if as_json:
        output.emit_json(tuning_text.to_json(told))
    else:
        output.emit(tuning_text.document(told), color)


@dataclass(slots=True)
class _Tuning:
    """One tuning while it runs."""

    made: Setting
    ask: Ask
    budget_s: float
    began: float = field(default_factory=time.monotonic)
    attempts: list[Attempt] = field(default_factory=list)
    winners: list[_Winner] = field(default_factory=list)
    pairs_s: list[float] = field(default_factory=list)
    """What a pair of each trial so far has taken."""

    def run(self) -> Tuning:
        """Whatever is raised, the machine is as before."""
        try:
            self._try_each()
            return self._ended()
        except BaseException as error:
            self._give_back(error)
            raise

    def _try_each(self) -> None:
        view, found = self._look()
        advice = tuning.ordered(found.advice)
        tuning_scope.check_is_about_one(advice, view, self.ask)
        for declined in found.declined:
            self.attempts.append(Attempt(declined.policy, declined.subject, Tried.LEFT_OUT, declined.reason))
        for place, one in enumerate(advice):
            self.made.conditions.interruptions.listen()
            self._try(one, view, waiting=len(advice) - place + 1)
        waiting = tuning.again(self.attempts)
        for place, before in enumerate(waiting):
            self.made.conditions.interruptions.listen()
            one = next(one for one in advice if (one.policy, one.subject) == (before.policy, before.subject))
            self._try(one, view, len(waiting) - place + 1, self._standing())

    def _left_s(self) -> float:
        """Of the budget."""
        return self.budget_s - (time.monotonic() - self.began)

    def _pair_s(self, *, at_most: bool = False) -> float:
        """What a pair of rounds is likely to take, or at most took."""
        wishes = self.made.wishes
        planned = 2 * (wishes.round_s + wishes.settle_s + SWITCH_S)
        return max(planned, (max if at_most else median)(self.pairs_s or (planned,)))

    def _confirmation_s(self) -> float:
        """That must be kept free: with one that stands already, another winner is the second."""
        wishes = self.made.wishes
        least = tuning.pairs_least(wishes.pairs_min, wishes.pairs_max)
        return least * self._pair_s(at_most=True) if self.winners else 0.0

    def _standing(self) -> str:
        """What a second trial of a policy has that its first had not."""
        won = dict.fromkeys(self.attempts[one.place].policy for one in self.winners)
        return f"again, with {', '.join(won)} standing: "

    def _look(self) -> tuple[View, Plan]:
        """At this machine while the load runs."""
        source, asked, looks = self.made.source, self.made.load, list[Snapshot]()

        def look() -> None:
            seen = observe(source, looks[-1] if looks else None, frozenset(self.ask.domains))
            looks.append(as_meant(seen, self.ask))

        named = trial_scope.Named(self.ask.nics, self.ask.domains, self.made.guest_agent)
        spec, _ = trial_place.of(asked.spec, trial_scope.measured(source, (), named), ())
        seconds = self.made.wishes.round_s
        try:
            trial_load.runner(spec, asked.token)(seconds, Hooks(began=look, ended=look), SWITCH_S)
        except LoadError as error:
            raise Denied(f"the load: {error}; nothing was changed") from error
        view = rates.view(looks[0], looks[-1])
        policies = policy_files.policies(self.ask.directories)
        known = {one.name for one in policies}
        for name in self.ask.policies:
            if name not in known:
                raise click.UsageError(f"no policy {name!r}; there are: {', '.join(sorted(known))}")
        return view, plan(view, diagnose(view), policies, self.ask.policies)

    def _try(self, advice: Advice, view: View, waiting: int, said: str = "") -> None:
        reason = self._attempt(advice, view, waiting, said)
        if reason:
            self.attempts.append(Attempt(advice.policy, advice.subject, Tried.LEFT_OUT, said + reason))
        left = f"; at most {trial_progress.left(max(0.0, self._left_s()))} of the budget left"
        trial_progress.ended(tuning_text.line(self.attempts[-1]) + left)

    def _attempt(self, advice: Advice, view: View, waiting: int, said: str) -> str:
        """Why it is left out; empty where it was tried."""
        ask = tuning_scope.asked(advice, view, self.ask)
        if ask is None:
            return "--on and --domain name something else"
        wishes = self.made.wishes
        left_s, least = self._left_s(), tuning.pairs_least(wishes.pairs_min, wishes.pairs_max)
        pairs = tuning.pairs_within(
            left_s, self._pair_s(), waiting, wishes.pairs_max, least, kept_s=self._confirmation_s()
        )
        if not pairs:
            return f"the budget has {max(0.0, left_s):.0f} s left, too little for a verdict"
        planner = Planner(ask, self.made.source)
        switching = trialling.switched(self.made, planner.plan)
        if not switching.tried:
            return trialling.nothing_to_try(planner, switching)
        try:
            trialling.guarded(self.made, switching, in_container=ask.in_container)
        except Denied as denied:  # of this policy, and no reason to lose what has won
            return denied.message
        try:
            self._measure(advice, planner, switching, pairs, said)
        except click.UsageError as error:  # what decides cannot be had of this one; nothing was switched yet
            return error.message
        return ""

    def _measure(self, advice: Advice, planner: Planner, switching: Switching, pairs: int, said: str) -> None:
        began = time.monotonic()
        wishes = self.made.wishes
        ends = began + self._left_s() - self._confirmation_s()
        conditions = replace(self.made.conditions, in_time=lambda: time.monotonic() < ends)
        fewer = replace(wishes, pairs_max=pairs, pairs_min=min(pairs, wishes.pairs_min))
        made = replace(self.made, wishes=fewer, conditions=conditions)
        policies = policy_files.named((advice.policy,), self.ask.directories)
        try:
            trial = trialling.tried(made, switching, policies, (self.ask.nics, self.ask.domains), confirm=False)
        except BaseException as error:
            _put_back(switching, error)
            raise
        if trial.state is TrialState.FAILED and trial.kept:
            raise RoundError(trial.why)  # what comes next would be measured on top of it, and told to be as before
        self._learn(trial, time.monotonic() - began)
        became = _became(trial)
        why = said + (trial.why or why_of(trial))
        self.attempts.append(Attempt(advice.policy, advice.subject, became, why, trial))
        if became is Tried.KEPT:
            self.winners.append(_Winner(len(self.attempts) - 1, planner, switching))

    def _learn(self, trial: Trial, seconds: float) -> None:
        """How long a pair really takes, with what was measured again; a trial that failed tells nothing of it."""
        effect = trial.verdict.primary if trial.verdict is not None else None
        if trial.state is TrialState.DONE and effect is not None and effect.pairs:
            self.pairs_s.append(seconds / effect.pairs)

    def _ended(self) -> Tuning:
        if len(self.winners) < 2:  # noqa: PLR2004 - of one, its own trial was against the machine as it was
            numbers = tuple(one.switching.keep() for one in self.winners)
            return self._told(None, numbers)
        for one in reversed(self.winners):
            one.switching.restore()
        self.made.conditions.interruptions.listen()
        together = self._together()
        if together.kept and together.transaction is not None:
            return self._told(together, (together.transaction,))
        return self._told(together, (), "" if together.state is TrialState.DONE else together.why)

    def _together(self) -> Trial:
        names = tuple(dict.fromkeys(self.attempts[one.place].policy for one in self.winners))
        switching = trialling.switched(self.made, self._plan_of_all)
        trialling.guarded(self.made, switching, in_container=self.ask.in_container)
        policies = policy_files.named(names, self.ask.directories)
        wishes = self.made.wishes
        least = tuning.pairs_least(wishes.pairs_min, wishes.pairs_max)
        pairs = tuning.pairs_within(self._left_s(), self._pair_s(at_most=True), 1, wishes.pairs_max, least)
        most = max(pairs, least)  # a little beyond the budget, for unconfirmed all that won is lost
        primary = tuning.primary_of_all(self.attempts) if wishes.primary is None else wishes.primary
        made = replace(self.made, wishes=replace(wishes, pairs_max=most, primary=primary))
        return trialling.tried(made, switching, policies, (self.ask.nics, self.ask.domains))

    def _plan_of_all(self) -> Sequence[PlannedChange]:
        """Of one target the later winner's value: it won with the earlier one's standing."""
        every = chain.from_iterable(one.planner.plan() for one in self.winners)
        return tuple({(one.change.kind, one.change.target): one for one in every}.values())

    def _told(self, together: Trial | None, numbers: tuple[int, ...], why: str = "") -> Tuning:
        seconds = time.monotonic() - self.began
        return Tuning(__version__, seconds, tuple(self.attempts), together, numbers, why)

    def _give_back(self, reason: BaseException) -> None:
        """What won stood as long as this process would have run: newest first, all of it."""
        for one in reversed(self.winners):
            _put_back(one.switching, reason)


def _put_back(switching: Switching, reason: BaseException) -> None:
    """Before the reason is raised on; where this fails it says so."""
    try:
        switching.restore()
    except (RoundError, OSError) as error:
        reason.add_note(f"and the machine could not be put back: {error}")


def _became(trial: Trial) -> Tried:
    if trial.state is not TrialState.DONE:
        return Tried.FAILED
    kept = trial.kept and trial.verdict is not None and trial.verdict.decision is Decision.KEEP
    return Tried.KEPT if kept else Tried.TAKEN_BACK

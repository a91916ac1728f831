"""``trial``, from the first look to the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from tuneagent.app import (
    apply_run,
    denied,
    exits,
    policy_files,
    signals,
    trial_load,
    trial_place,
    trial_progress,
    trial_question,
    trial_run,
    trial_scope,
    trial_store,
    writing,
)
from tuneagent.app.applying import DISRUPTIVE, Ask, Planner
from tuneagent.app.denied import BadRequest
from tuneagent.app.measuring import Measuring
from tuneagent.app.switching import Bounds, Switching
from tuneagent.app.watch import Place
from tuneagent.machine.live import Live
from tuneagent.model.load import LoadKind
from tuneagent.model.policy import Policy
from tuneagent.model.trial import Trial, TrialState

if TYPE_CHECKING:
    from tuneagent.app.trial import Options
    from tuneagent.app.trial_load import AskedLoad
    from tuneagent.app.trial_options import Wishes
    from tuneagent.machine.source import Source
    from tuneagent.model.apply_report import PlannedChange

MOST_CHANGES = 1000
LINK_UP_S = 60.0
"""How long a server may be out of reach after a change that takes the link down."""
BOUNDS = Bounds(MOST_CHANGES)


@dataclass(frozen=True, slots=True)
class Setting:
    """The machine that trials are made on, for as long as this process has it to itself."""

    site: writing.Site
    source: Source
    conditions: trial_run.Conditions
    load: AskedLoad
    wishes: Wishes
    guest_agent: bool
    typed: str


def run(load: AskedLoad, wishes: Wishes, chosen: Options) -> int:
    """The exit code; what stops it before anything is touched is a ClickException."""
    with setting(load, wishes, chosen) as made:
        planner = Planner(chosen.ask, made.source)
        switching = switched(made, planner.plan)
        if not switching.tried:
            raise BadRequest(nothing_to_try(planner, switching))
        guarded(made, switching, in_container=chosen.ask.in_container)
        if chosen.ask.plan is not None:
            apply_run.check_up_to_date(made.site, chosen.ask.plan, switching.planned)
        trial = tried(made, switching, policies_of(chosen.ask), (chosen.ask.nics, chosen.ask.domains))
    tell(trial, as_json=chosen.as_json, color=chosen.color)
    return exits.DONE if trial.state is TrialState.DONE else exits.FAILED


@contextmanager
def setting(load: AskedLoad, wishes: Wishes, chosen: Options) -> Iterator[Setting]:
    """This machine to ourselves, its store open, our signals orderly; what an earlier run had left is given back."""
    ask = chosen.ask
    apply_run.check_trust(ask)
    source = Live(connect=ask.connect)
    site = writing.Site(Place(None, chosen.state), source)
    apply_run.stop(site.forbidden((), in_container=ask.in_container))
    with (
        denied.told(),
        site.alone(),
        trial_store.opened(chosen.store, make=True) as store,
        signals.orderly() as interruptions,
        _interrupts_told(),
    ):
        with interruptions.held():
            site.recover()
        conditions = trial_run.Conditions(store, interruptions, chosen.keep)
        yield Setting(site, source, conditions, load, wishes, chosen.guest_agent, chosen.typed)


@contextmanager
def _interrupts_told() -> Iterator[None]:
    """An interrupt as one line and its exit code."""
    try:
        yield
    except signals.Interrupted as interrupted:
        trial_progress.clear()
        notes = getattr(interrupted, "__notes__", ())
        left = "; ".join(notes) if notes else trial_run.AS_BEFORE
        click.echo(f"{interrupted}; {left}", err=True)
        raise click.exceptions.Exit(interrupted.exit_code) from interrupted


def switched(made: Setting, plan: Callable[[], Sequence[PlannedChange]]) -> Switching:
    """What switches a plan's changes; plans once."""
    return Switching(made.site, plan, made.conditions.interruptions, made.typed, BOUNDS)


def guarded(made: Setting, switching: Switching, *, in_container: bool) -> None:
    """Stops what this process may not, or nobody should."""
    apply_run.stop(made.site.forbidden(switching.planned, in_container=in_container))
    apply_run.stop(made.site.refused(switching.planned, most=MOST_CHANGES, with_disk=False))


def nothing_to_try(planner: Planner, switching: Switching) -> str:
    """Why there is no trial."""
    if switching.planned:
        return "the virtual machine does not run: what its definition says cannot be measured now"
    reasons = [f"{one.policy} on {one.subject}: {one.reason}" for one in planner.declined]
    return "; ".join(("nothing to try, and nothing was changed", *reasons))


def policies_of(ask: Ask) -> tuple[Policy, ...]:
    """The policies that are tried; none where a file says what is changed."""
    return policy_files.named(ask.policies, ask.directories) if ask.policies else ()


def tried(
    made: Setting,
    switching: Switching,
    policies: Sequence[Policy],
    names: tuple[tuple[str, ...], tuple[str, ...]],
    *,
    confirm: bool = True,
) -> Trial:
    """One trial, to its end. ``names``: of interfaces and of virtual machines that the command line named."""
    one = bench(made, switching.tried, policies, names, "the changes of a file")
    question = one.question
    conditions = replace(made.conditions, progress=trial_progress.shown(f"{question.policy} on {question.subject}"))
    try:
        return trial_run.run(one, switching, conditions, confirm=confirm)
    finally:
        trial_progress.clear()


def bench(
    made: Setting,
    planned: Sequence[PlannedChange],
    policies: Sequence[Policy],
    names: tuple[tuple[str, ...], tuple[str, ...]],
    otherwise: str,
) -> trial_run.Bench:
    """What measures such changes, and the question; ``otherwise`` is how it is called where no policy is tried."""
    nics, domains = names
    passive = made.load.spec.kind is LoadKind.PASSIVE
    named = trial_scope.Named(nics, domains, made.guest_agent, load_runs=not passive)
    measured = trial_scope.measured(made.source, planned, named)
    changes = tuple(one.change for one in planned)
    spec, placement = trial_place.of(made.load.spec, measured, changes)
    about = measured.subject, otherwise
    question = trial_question.question(policies, planned, about, (measured.scope, spec), made.wishes)
    disrupts = any(change.kind in DISRUPTIVE for change in changes)
    load = trial_load.runner(spec, made.load.token, LINK_UP_S if disrupts else 0.0)
    measuring = Measuring(made.source, measured.scope, measured.connect_guest)
    facts = measured.facts | {"the load's processes": placement}
    return trial_run.Bench(question, facts, lambda seconds: measuring.measure(seconds, load))


def tell(trial: Trial, *, as_json: bool, color: str) -> None:
    """The trial in full, as `tuneagent report` tells it."""
    from tuneagent import __version__
    from tuneagent.app import output

    if as_json:
        from tuneagent.report.trial_json import to_json

        output.emit_json(to_json(trial, __version__))
    else:
        from tuneagent.report.trial_text import document

        output.emit(document(trial), color)

"""One apply, from the first look to the report: guards, what was left in the middle, the plan, the transaction."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import click

from tuneagent.app import (
    applying,
    denied,
    exits,
    policy_files,
    signals,
    site_source,
    told,
    trust,
    writer_process,
    writing,
)
from tuneagent.app.denied import BadRequest, Forbidden
from tuneagent.app.inputs import InputError
from tuneagent.app.watch import Place
from tuneagent.model.apply_report import ApplyReport, Command, PlannedChange, Result
from tuneagent.model.transaction import Outcome, Transaction

if TYPE_CHECKING:
    from pathlib import Path

    from tuneagent.app.apply import Options
    from tuneagent.app.writing import Objection


def run(ask: applying.Ask, chosen: Options) -> int:
    """The exit code; what stops it before anything is touched is a ClickException."""
    check_trust(ask)
    source = site_source.source_of(ask.tree, ask.connect)
    place = Place(ask.tree, chosen.state)
    site = writing.Site(place, source)
    stop(site.forbidden((), in_container=ask.in_container))
    one = _Run(ask, chosen, place, site, applying.Planner(ask, source))
    with denied.told(), site.alone():
        report, code = one.run()
    if report is not None:
        # Not under the lock: who reads it may stop reading, and the undo at a deadline must not wait for them.
        told.tell(report, as_json=chosen.as_json, color=chosen.color, diff=chosen.diff)
    return code


def check_trust(ask: applying.Ask) -> None:
    """What tells a program of root's what to write may be written by nobody else. A tree is nobody's machine."""
    if ask.tree is not None:
        return
    named = [ask.plan] if ask.plan is not None else [policy_files.shipped(), *ask.directories]
    for path in named:
        try:
            trust.check_trusted(path)
        except InputError as error:
            raise Forbidden(error.message) from error


def check_up_to_date(site: writing.Site, plan: Path, planned: Sequence[PlannedChange]) -> None:
    """InputError for a file's plan that was made for other values than those that stand."""
    outdated = tuple(site.outdated(planned))
    if outdated:
        raise InputError("\n".join(f"{plan}: {one}; nothing was changed" for one in outdated))


def stop(objection: Objection | None) -> None:
    """Raises what keeps a command that changes the machine from it; nothing where that is None."""
    if objection is not None:
        kind = Forbidden if objection.forbidden else BadRequest
        raise kind(f"{objection.detail}; {objection.remedy}; nothing was changed")


def way_in_notes(names: Sequence[str], within: float | None) -> tuple[str, ...]:
    """That the session's own interfaces lose packets; none where it has none among them. ``within``: seconds."""
    if not names:
        return ()
    saved = (
        "--confirm-within 60 would give it all back should it cut you off"
        if within is None
        else f"should it cut you off, all is given back after {within:g} s"
    )
    return (f"you came in through {', '.join(names)}, whose link drops for these changes; {saved}",)


@dataclass(slots=True)
class _Run:
    """What one apply knows on its way."""

    ask: applying.Ask
    chosen: Options
    place: Place
    site: writing.Site
    planner: applying.Planner
    recovered: tuple[Transaction, ...] = ()
    first: tuple[PlannedChange, ...] = ()
    notes: list[str] = field(default_factory=list)
    _asked: bool = False

    def run(self) -> tuple[ApplyReport | None, int]:
        """Under the lock: what is to be told, and the exit code; None where an interrupt was told of already."""
        with signals.orderly() as interruptions:
            try:
                report, forbidden = self._report(interruptions)
            except signals.Interrupted as interrupted:
                click.echo(f"{interrupted}; {self._left()}", err=True)
                return None, interrupted.exit_code
        forbidden = forbidden and report.result is Result.FAILED
        return report, exits.FORBIDDEN if forbidden else told.exit_code(report)

    def _report(self, interruptions: signals.Interruptions) -> tuple[ApplyReport, bool]:
        with interruptions.held():
            self.recovered = self.site.recover()
        self.first = self.planner.plan()
        self._guard()
        self.notes += self.site.known_facts(self.first)
        within = self._confirm_within()
        self.notes += self._way_in(within)
        request = writing.Request(self.chosen.typed, self.ask.policies, within)
        try:
            made = self.site.apply(self._plan, request, interruptions)
        except writing.Failed as failed:
            return self._failed(failed), failed.forbidden
        return self._done(made), False

    def _guard(self) -> None:
        if not self.first:
            return
        stop(self.site.forbidden(self.first, in_container=self.ask.in_container))
        stop(self._refused(self.first))
        if self.ask.plan is not None:
            check_up_to_date(self.site, self.ask.plan, self.first)

    def _refused(self, planned: Sequence[PlannedChange]) -> Objection | None:
        most, with_disk = self.chosen.max_changes, self.chosen.include_journal_disk
        return self.site.refused(planned, most=most, with_disk=with_disk)

    def _confirm_within(self) -> float | None:
        if self.chosen.confirm_within_s is not None or not self.site.machine.live:
            return self.chosen.confirm_within_s
        terminal = sys.stdin is not None and sys.stdin.isatty()
        return writing.confirm_default(
            disrupts=self.planner.disrupts, ssh=terminal and writer_process.over_ssh(), terminal=terminal
        )

    def _way_in(self, within: float | None) -> tuple[str, ...]:
        """What an operator should know of the interface that the session is through."""
        if not (self.planner.disrupts and self.site.machine.live):
            return ()
        return way_in_notes(self.site.on_way_in(self.first), within)

    def _plan(self) -> tuple[PlannedChange, ...]:
        """The first plan, which the guards have seen, and then a new one as often as it is asked for."""
        if not self._asked:
            self._asked = True
            return self.first
        planned = self.planner.plan()
        objection = self._refused(planned)
        if objection is not None:
            raise writing.Refusal(writing.Why.FAILED, objection.detail, objection.remedy)
        return planned

    def _done(self, made: Transaction | None) -> ApplyReport:
        if made is None:
            declined = self.planner.declined
            result = Result.ALREADY_SO if self.first else told.nothing_to_do(declined)
            return self._told(result)
        wrote = any(entry.outcome is Outcome.CHANGED for entry in made.entries)
        return self._told(Result.APPLIED if wrote else Result.DECLINED, made)

    def _failed(self, failed: writing.Failed) -> ApplyReport:
        stuck = failed.transaction is not None and told.has_stuck([failed.transaction])
        return self._told(Result.STUCK if stuck else Result.FAILED, failed.transaction, failed.reason)

    def _told(self, result: Result, made: Transaction | None = None, reason: str = "") -> ApplyReport:
        watching = () if self.site.watch is None else self.site.watch.notes
        return told.report(
            self.place,
            Command.APPLY,
            result,
            reason=reason,
            transactions=() if made is None else (made,),
            recovered=self.recovered,
            declined=self.planner.declined,
            notes=tuple(dict.fromkeys(chain(self.notes, watching, self.planner.notes))),
        )

    def _left(self) -> str:
        """How an interrupted run left the machine."""
        if self.site.watch is None:
            return "only what an earlier run had left was given back" if self.recovered else "nothing was changed"
        number = self.site.watch.number
        try:
            stands = self.site.load(number).stands
        except (writing.JournalError, OSError):
            stands = True
        words = shlex.join(("tuneagent", "rollback", str(number), *self.place.options))
        return f"run {words}: not all is known to be given back" if stands else "all was given back"

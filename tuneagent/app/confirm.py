"""``tuneagent confirm``: what was applied with a deadline stays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuneagent.app import options

if TYPE_CHECKING:
    from tuneagent.app.watch import Place
    from tuneagent.app.writing import Site
    from tuneagent.model.apply_report import ApplyReport
    from tuneagent.model.transaction import Transaction


@click.command()
@click.argument("number", type=click.IntRange(1), required=False, metavar="[ID]")
@options.place
@options.as_json
@options.colour
def command(*, number: int | None, tree: Path | None, state: Path | None, as_json: bool, color: str) -> int:
    """Keep what was applied with --confirm-within: without an ID, the latest that waits for it.

    Exit codes: 0 it stays, or nothing waits; 1 it is too late, and it is undone; 2 there is no such transaction;
    4 not permitted.
    """
    from tuneagent.app import denied, site_source, told, writing
    from tuneagent.app.watch import Place

    place = Place(tree, state)
    site = writing.Site(place, site_source.source_of(tree))
    with denied.told(), site.alone():
        made = _confirmed(site, place, denied.loaded(site, number) if number is not None else _waiting(site))
    return told.tell(made, as_json=as_json, color=color)


def _waiting(site: Site) -> Transaction | None:
    """The latest that waits, or else the latest that was undone because nobody confirmed it."""
    every = site.all()
    waiting = [one for one in every if one.awaits_confirmation]
    return waiting[-1] if waiting else every[-1] if every and every[-1].undone_why == "not confirmed" else None


def _confirmed(site: Site, place: Place, one: Transaction | None) -> ApplyReport:
    from tuneagent.app import denied, told
    from tuneagent.model.apply_report import Command, Result
    from tuneagent.model.transaction import State

    if one is None:
        return told.report(place, Command.CONFIRM, Result.NOTHING, reason="no transaction waits to be confirmed")
    if one.state is State.UNDONE:
        why = f"transaction {one.id} is undone already ({one.undone_why or 'no reason was given'})"
        return told.report(place, Command.CONFIRM, Result.TOO_LATE, reason=why, transactions=(one,))
    if one.state is State.OPEN or site.due(one):
        with denied.damage():
            undone = site.undo(one.id, site.due(one) or "not confirmed")
        stuck = told.has_stuck([undone])
        why = f"transaction {one.id} was not confirmed in time and is undone now"
        result = Result.STUCK if stuck else Result.TOO_LATE
        return told.report(place, Command.CONFIRM, result, reason="" if stuck else why, recovered=(undone,))
    if not one.awaits_confirmation:
        return told.report(place, Command.CONFIRM, Result.NOTHING, reason=f"transaction {one.id} stands without it")
    with denied.damage():
        return told.report(place, Command.CONFIRM, Result.CONFIRMED, transactions=(site.confirm(one.id),))

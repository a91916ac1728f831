"""``tuneagent rollback``: what was applied is given back, where it still stands as it was applied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuneagent.app import exits, options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tuneagent.app.watch import Place
    from tuneagent.app.writing import Site
    from tuneagent.model.apply_report import ApplyReport
    from tuneagent.model.transaction import Transaction

LONGEST_LINE = 65_536
"""Of a shell line: an element of a definition has 2,000."""
DUE_PATIENCE_S = 120.0
"""Whoever undoes at a deadline waits for another writer: nobody will call it a second time."""


@dataclass(frozen=True, slots=True)
class _Options:
    """One command line of ``rollback``."""

    number: int | None
    every: bool
    by_hand: bool
    due: bool
    place: Place
    as_json: bool
    color: str


@click.command()
@click.argument("number", type=click.IntRange(1), required=False, metavar="[ID]")
@click.option("--all", "every", is_flag=True, help="All that stands, newest first.")
@click.option("--print", "by_hand", is_flag=True, help="Write nothing: print the shell lines that give it back.")
@click.option("--due", is_flag=True, help="Only what was left in the middle, or was not confirmed in time; for timers.")
@options.place
@options.connect
@options.as_json
@options.colour
def command(*, tree: Path | None, state: Path | None, connect: tuple[str, ...], **given: Any) -> int:
    """Give back what was applied: without an ID, the latest transaction that stands.

    One whose journal is damaged cannot be given back: it is named, and the latest before it is.
    Only what still stands as it was applied is written: what somebody changed since is left as they want it, and told.

    Exit codes: 0 done, or there was nothing to give back; 1 something is stuck; 2 there is no such transaction;
    4 not permitted.
    """
    from tuneagent.app.watch import Place

    chosen = _Options(place=Place(tree, state), **given)
    if chosen.every and chosen.number is not None:
        raise click.UsageError("give an ID or --all, and not both")
    if chosen.by_hand and chosen.as_json:
        raise click.UsageError("--print writes shell lines: leave out --json")
    from tuneagent.app import denied, site_source, told, writing

    site = writing.Site(chosen.place, site_source.source_of(tree, connect))
    if chosen.by_hand:
        with denied.told(), denied.damage():
            return _print(site, chosen)
    with denied.told(), site.alone(DUE_PATIENCE_S if chosen.due else writing.PATIENCE_S):
        made = _undone(site, chosen)
    return told.tell(made, as_json=chosen.as_json, color=chosen.color)


def _meant(site: Site, chosen: _Options) -> tuple[Transaction, ...]:
    """The transactions to give back, newest first."""
    from tuneagent.app import denied

    if chosen.number is not None:
        one = denied.loaded(site, chosen.number)
        return (one,) if not chosen.due or site.due(one) else ()
    standing = tuple(reversed(site.standing()))
    if chosen.due:
        return tuple(one for one in standing if site.due(one))
    if chosen.every:
        return standing
    # Nothing can be given back by a damaged journal: it is told, and must not hide what stands before it.
    sound = next((place for place, one in enumerate(standing) if not one.damage), len(standing))
    return standing[: sound + 1]


def _undone(site: Site, chosen: _Options) -> ApplyReport:
    from tuneagent.app import denied, signals, told
    from tuneagent.model.apply_report import Command, Result

    done: list[Transaction] = []
    damaged: list[str] = []
    meant = [one for one in _meant(site, chosen) if one.stands]
    with signals.orderly() as interruptions:
        interruptions.ignore()
        for one in meant:
            try:
                with denied.told(), denied.damage():
                    done.append(site.undo(one.id, site.due(one) or "asked"))
            except denied.Denied as error:  # the others can be given back all the same
                damaged.append(error.message)
    if not meant:
        return told.report(chosen.place, Command.ROLLBACK, Result.NOTHING, reason=_nothing(chosen))
    result = Result.STUCK if damaged or told.has_stuck(done) else Result.UNDONE
    return told.report(chosen.place, Command.ROLLBACK, result, reason="; ".join(damaged), transactions=tuple(done))


def _nothing(chosen: _Options) -> str:
    if chosen.due:
        return "no undo is due"
    return f"nothing of transaction {chosen.number} stands" if chosen.number is not None else "nothing stands"


def _print(site: Site, chosen: _Options) -> int:
    from tuneagent.report.safe import safe

    meant = _meant(site, chosen)
    if not any(one.stands for one in meant):
        click.echo(f"# {_nothing(chosen)}")
    for line in _lines(site, meant):
        click.echo(safe(line, LONGEST_LINE))
    return exits.DONE


def _lines(site: Site, meant: Iterable[Transaction]) -> Iterable[str]:
    for one in meant:
        if one.stands:
            yield f"# transaction {one.id}, as root{'' if site.machine.live else ' on the machine of the tree'}:"
            yield from site.by_hand(one)

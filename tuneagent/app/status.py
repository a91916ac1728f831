"""``tuneagent status``: what is applied, by which transaction, and whether it still stands."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuneagent.app import exits, options

if TYPE_CHECKING:
    from tuneagent.app.watch import Place
    from tuneagent.app.writing import Site
    from tuneagent.model.apply_report import StatusReport
    from tuneagent.model.transaction import TransactionStatus


@click.command()
@click.argument("number", type=click.IntRange(1), required=False, metavar="[ID]")
@options.place
@options.connect
@options.as_json
@options.colour
def command(
    *,
    number: int | None,
    tree: Path | None,
    state: Path | None,
    connect: tuple[str, ...],
    as_json: bool,
    color: str,
) -> int:
    """Say what is applied, whether it still stands and is in effect, and who changed what does not. Writes nothing.

    Exit codes: 0 all stands as it was applied, or nothing is; 2 there is no such transaction; 4 not permitted;
    6 something drifted, a transaction was left in the middle, or was not confirmed in time.
    """
    from tuneagent.app import denied, output, site_source, writing
    from tuneagent.app.watch import Place

    place = Place(tree, state)
    site = writing.Site(place, site_source.source_of(tree, connect))
    with denied.told():
        made = _report(site, place, number, closed=as_json)
    if as_json:
        from tuneagent.report.status_json import to_json

        output.emit_json(to_json(made))
    else:
        from tuneagent.report.status_text import document

        output.emit(document(made, every=number is not None), color)
    return exits.FOUND if made.due or made.drifted or made.damaged else exits.DONE


def _report(site: Site, place: Place, number: int | None, *, closed: bool) -> StatusReport:
    from tuneagent import __version__
    from tuneagent.app import denied, told
    from tuneagent.model.apply_report import StatusReport

    if number is not None:
        denied.loaded(site, number)
        statuses: tuple[TransactionStatus, ...] = (site.status_of(number),)
    else:
        statuses = site.status(closed=closed)
    return StatusReport(
        __version__,
        told.origin(place.tree),
        site.directory.path,
        statuses,
        frozenset(one.transaction.id for one in statuses if site.overdue(one.transaction)),
        closed=() if number is not None or closed else site.closed(statuses),
        options=shlex.join(place.options),
    )

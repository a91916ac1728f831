"""``tuneagent report``: a trial in full, as text, JSON or a page; or two side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuneagent.app import exits, options, trial_store

if TYPE_CHECKING:
    from tuneagent.model.trial import Trial

LAST = 2**63 - 1


@click.command()
@click.argument("number", type=click.IntRange(1, LAST), metavar="ID")
@click.argument("other", type=click.IntRange(1, LAST), required=False, metavar="[ID]")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write one page that needs nothing else and asks nobody: for a ticket, a mail, an archive.",
)
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
@trial_store.option
@options.as_json
@options.colour
def command(
    *,
    number: int,
    other: int | None,
    page: Path | None,
    force: bool,
    store: Path | None,
    as_json: bool,
    color: str,
) -> int:
    """Tell a trial in full: the verdict, what it rests on, and what it could not have seen. Two: compare them.

    `tuneagent history` lists their numbers.

    Exit codes: 0 done; 2 bad usage, or there is no such trial; 4 not permitted.
    """
    if page is not None and (as_json or other is not None):
        raise click.UsageError("--html is for one trial, and excludes --json")
    if page is not None:
        from tuneagent.app import private_file

        private_file.check(page, over=force)
    with trial_store.opened(store) as trials:
        first = trials.load(number)
        second = None if other is None else trials.load(other)
    if page is not None:
        return _write(first, page, over=force)
    if second is not None:
        return _compare(first, second, as_json=as_json, color=color)
    return _tell(first, as_json=as_json, color=color)


def _tell(trial: Trial, *, as_json: bool, color: str) -> int:
    from tuneagent import __version__
    from tuneagent.app import output

    if as_json:
        from tuneagent.report.trial_json import to_json

        output.emit_json(to_json(trial, __version__))
    else:
        from tuneagent.report.trial_text import document

        output.emit(document(trial), color)
    return exits.DONE


def _compare(first: Trial, second: Trial, *, as_json: bool, color: str) -> int:
    from tuneagent import __version__
    from tuneagent.app import output
    from tuneagent.report import compare_text

    if as_json:
        output.emit_json(compare_text.to_json(first, second, __version__))
    else:
        output.emit(compare_text.document(first, second), color)
    return exits.DONE


def _write(trial: Trial, page: Path, *, over: bool) -> int:
    from tuneagent import __version__
    from tuneagent.app import private_file
    from tuneagent.report.safe import safe
    from tuneagent.report.trial_html import write

    private_file.write(page, write(trial, __version__), over=over)
    click.echo(safe(f"written to {page}", 2000), err=True)
    return exits.DONE

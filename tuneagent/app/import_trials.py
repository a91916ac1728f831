"""``tuneagent import``: what ``tuneagent export`` wrote, read in: all of it, or nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuneagent.app import exits, trial_store
from tuneagent.app.inputs import InputError

if TYPE_CHECKING:
    from tuneagent.record.exchange import Imported
    from tuneagent.record.store import Store

STANDARD_INPUT = Path("-")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@trial_store.option
def command(*, file: Path, store: Path | None) -> int:
    """Read trials in, all of FILE's or none; `-` is standard input. Those that are here already are left out.

    They get numbers of their own here, and `tuneagent history` lists them.

    Exit codes: 0 done; 1 failed, and nothing was read in; 2 a file that is none of trials, with its line;
    4 not permitted.
    """
    from tuneagent.report.values import plural

    with trial_store.opened(store, make=True) as trials:
        done = _read(trials, file)
    here = f", {done.here:,} here already" if done.here else ""
    click.echo(f"{plural(len(done.stored), 'trial')} read in{_numbers(done.stored)}{here}")
    return exits.DONE


def _read(trials: Store, file: Path) -> Imported:
    if file == STANDARD_INPUT:
        return trials.import_(sys.stdin.buffer, "standard input")
    try:
        with file.open("rb") as lines:
            return trials.import_(lines, str(file))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error


def _numbers(stored: tuple[int, ...]) -> str:
    if not stored:
        return ""
    return f" as {stored[0]}" if len(stored) == 1 else f" as {stored[0]} to {stored[-1]}"

"""``tuneagent export``: trials as lines of JSON, to keep, to send, and to read in elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tuneagent.app import exits, trial_store
from tuneagent.app.report import LAST


@click.command()
@click.argument("numbers", nargs=-1, type=click.IntRange(1, LAST), metavar="[ID]...")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write here, mode 0600.")
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
@trial_store.option
def command(*, numbers: tuple[int, ...], file: Path | None, force: bool, store: Path | None) -> int:
    """Write these trials, or all, one line of JSON each: with every round, and what the machines were.

    `tuneagent import` reads them in. They name the machine's interfaces, kernels and CPUs: look before you send them.

    Exit codes: 0 done; 2 bad usage, or there is no such trial; 4 not permitted.
    """
    from tuneagent.app import private_file

    if file is not None:
        private_file.check(file, over=force)
    with trial_store.opened(store) as trials:
        lines = (line.decode("ascii") for line in trials.export(dict.fromkeys(numbers) or None))
        if file is not None:
            private_file.write_pieces(file, lines, over=force)
        else:
            sys.stdout.writelines(lines)
    return exits.DONE

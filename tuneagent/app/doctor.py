"""``tuneagent doctor``: what can be seen here and what cannot, one look, no interval."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuneagent import __version__
from tuneagent.app import exits, options

if TYPE_CHECKING:
    from tuneagent.model.snapshot import Snapshot

RECORDED_S = 1.0
"""Longer than a look takes; reading the record ends it."""


@click.command()
@options.one_sysroot
@options.one_snapshot
@options.as_json
@options.colour
@click.option("--strict", is_flag=True, help="Exit 5 when something cannot be seen.")
def command(*, trees: tuple[Path, ...], files: tuple[Path, ...], as_json: bool, color: str, strict: bool) -> int:
    """Say for each thing that advice rests on whether it can be seen here, why not, and what would help."""
    from tuneagent.app import inputs, output, policy_files
    from tuneagent.observe import snapshot
    from tuneagent.report import doctor_report

    if len(trees) + len(files) > 1:
        raise click.UsageError("one tree or file at a time")
    sources = inputs.trees_as_sources(trees) or inputs.files_as_sources(files)
    installation = doctor_report.Installation(
        version=__version__,
        python=sys.version.split()[0],
        user_id=os.geteuid(),
        policies=len(policy_files.policies()),
        policy_directory=str(policy_files.shipped()),
    )
    seen = snapshot(sources[-1]) if sources else _live()
    capabilities = doctor_report.capabilities(seen)
    if as_json:
        output.emit_json(doctor_report.to_json(installation, seen, capabilities))
    else:
        output.emit(doctor_report.document(installation, seen, capabilities), color)
    return exits.PARTIAL if strict and any(one.missing for one in capabilities) else exits.DONE


def _live() -> Snapshot:
    """This machine, with an attempt to record waits for locks for as long as the look takes, and to name functions."""
    from tuneagent.machine import kallsyms
    from tuneagent.machine.live import Live
    from tuneagent.model.errors import SourceError
    from tuneagent.observe import snapshot

    source = Live()
    source.record_locks(RECORDED_S)
    seen = snapshot(source)
    if seen.lock_record is None:
        return seen
    try:
        kallsyms.load()
    except SourceError as error:
        return replace(seen, missing=(*seen.missing, error.missing("lock_record.symbols")))
    return seen

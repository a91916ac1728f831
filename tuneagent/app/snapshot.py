"""``tuneagent snapshot``: everything that the agent would read, raw, so that a bug report is one file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuneagent import __version__
from tuneagent.app import exits, options

if TYPE_CHECKING:
    from tuneagent.machine.recording import Recording


@click.command()
@options.interval(None, "Take two samples this far apart, so that rates can be worked out later.")
@options.sysroot
@options.connect
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write here, mode 0600.")
@click.option("--tree", type=click.Path(path_type=Path), metavar="DIR", help="Write proc/, sys/, etc/ and captured/.")
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
@click.option("--no-observed", is_flag=True, help="Leave out the parsed values; the sources are enough.")
def command(
    *,
    interval_s: float | None,
    trees: tuple[Path, ...],
    connect: tuple[str, ...],
    file: Path | None,
    tree: Path | None,
    force: bool,
    no_observed: bool,
) -> int:
    """Write what this machine shows, raw: file texts, links, netlink answers, and why a part is missing.

    The file holds no packet, no address other than the interfaces' own MAC addresses, and no process but irqbalance.
    It does hold the kernel's command line, and on a hypervisor the virtual machines' definitions, and QEMU's and
    vhost's processes: look at it before you send it away.
    `tuneagent advise --snapshot FILE` reads it back. With --tree and --interval, DIR gets t0/ and t1/.
    """
    if tree is not None and file is not None:
        raise click.UsageError("--tree and --output exclude each other")
    if trees and interval_s is not None:
        raise click.UsageError("--interval is for this machine; give --sysroot twice for two captured moments")
    if trees and connect:
        raise click.UsageError("--connect is for this machine, not for a captured one")
    if file is not None and not force and os.path.lexists(file):
        raise click.UsageError(f"{file} is there already; --force writes over a regular file")
    from tuneagent.app.inputs import SNAPSHOT_SCHEMA

    recordings, observed = _take(trees, connect, interval_s)
    if tree is not None:
        _write_trees(recordings, tree)
        return _said(recordings, tree)
    document: dict[str, Any] = {
        "schema": SNAPSHOT_SCHEMA,
        "version": __version__,
        "samples": [recording.sample() for recording in recordings],
    }
    if not no_observed:
        document["observed"] = observed
    _write(document, file, force=force)
    return _said(recordings, file)


def _said(recordings: list[Recording], place: Path | None) -> int:
    if place is not None:
        moments = "1 sample, which gives no rates" if len(recordings) == 1 else f"{len(recordings)} samples"
        click.echo(f"wrote {place}: {moments}", err=True)
    return exits.DONE


def _take(
    trees: tuple[Path, ...], connect: tuple[str, ...], interval_s: float | None
) -> tuple[list[Recording], list[Any]]:
    from tuneagent.app import output
    from tuneagent.app.inputs import trees_as_sources
    from tuneagent.machine.live import Live
    from tuneagent.machine.recording import Recording
    from tuneagent.observe import snapshot
    from tuneagent.report.jsonable import jsonable

    # One source for both samples: counters that it opened are then comparable.
    live = Live(connect=connect)
    recordings = [Recording(source) for source in trees_as_sources(trees) or [live]]
    observed = [jsonable(snapshot(recording)) for recording in recordings]
    if interval_s is not None:
        output.wait_quietly_or_visibly(interval_s)
        recordings.append(Recording(live))
        observed.append(jsonable(snapshot(recordings[-1])))
    return recordings, observed


def _write_trees(recordings: list[Recording], tree: Path) -> None:
    from tuneagent.app.inputs import InputError
    from tuneagent.machine.captured_json import CapturedJsonError
    from tuneagent.machine.tree import write_tree

    places = [tree] if len(recordings) == 1 else [tree / f"t{position}" for position in range(len(recordings))]
    try:
        tree.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{tree}: {error.strerror or error}") from error
    for recording, place in zip(recordings, places, strict=True):
        try:
            write_tree(recording.sample(), str(place))
        except CapturedJsonError as error:
            raise InputError(str(error)) from error
        except OSError as error:
            raise InputError((error.strerror and f"{place}: {error.strerror}") or str(error)) from error


def _write(document: dict[str, Any], file: Path | None, *, force: bool) -> None:
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, indent=1)
    if file is None:
        click.echo(text)
        return
    from tuneagent.app import private_file

    private_file.write(file, text + "\n", over=force)

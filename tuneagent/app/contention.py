"""``tuneagent contention``: who waits for which of the kernel's locks, for a short time and closely."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuneagent import __version__
from tuneagent.app import exits, options

if TYPE_CHECKING:
    from tuneagent.machine.source import Source
    from tuneagent.model.contention_report import ContentionReport

DEFAULT_S = 2.0
LONGEST_S = 60.0
DEFAULT_ROWS = 10
MOST_ROWS = 10_000
MOST_MOMENTS = 2
THIS_MACHINE = "this machine"


@click.command()
@options.seconds(DEFAULT_S, LONGEST_S, "How long to record.")
@click.option(
    "--import",
    "imports",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read a text of `perf lock contention`, or of `perf script` with lock events, in place of this machine; "
    "may be given again.",
)
@options.sysroot
@options.snapshots
@click.option(
    "--top",
    "most",
    type=click.IntRange(1, MOST_ROWS),
    default=DEFAULT_ROWS,
    show_default=True,
    metavar="N",
    help="Show so many places; --json has all.",
)
@options.as_json
@options.colour
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    seconds: float,
    imports: tuple[Path, ...],
    trees: tuple[Path, ...],
    files: tuple[Path, ...],
    most: int,
    as_json: bool,
    color: str,
) -> int:
    """Record who waits for the kernel's locks, with stacks, and group the waits into what people know.

    It counts every wait and records a bounded number of them for a bounded time, and needs root (CAP_PERFMON).
    Some waits for spinlocks the kernel does not tell: the report says which. It never switches /proc/lock_stat on.

    Exit codes: 0 a report was made; 1 nothing could be seen, and the report says why; 2 bad usage or input.
    """
    if sum(map(bool, (imports, trees, files))) > 1:
        raise click.UsageError("--import, --sysroot and --snapshot exclude each other")
    stated = ctx.get_parameter_source("seconds") is click.core.ParameterSource.COMMANDLINE
    if stated and (imports or trees or files):
        raise click.UsageError("--seconds is for this machine")
    if as_json and len(imports) > 1:
        raise click.UsageError("give one --import with --json")
    reports = _reports(seconds, imports, trees, files)
    for place, report in enumerate(reports):
        if place:
            click.echo()
        _tell(report, most, color, as_json=as_json)
    return exits.FAILED if any(report.nothing_seen for report in reports) else exits.DONE


def _reports(
    seconds: float, imports: tuple[Path, ...], trees: tuple[Path, ...], files: tuple[Path, ...]
) -> list[ContentionReport]:
    if imports:
        return [_imported(file) for file in imports]
    if trees or files:
        from tuneagent.app.inputs import files_as_sources, trees_as_sources

        kind = "tree" if trees else "snapshot"
        sources = trees_as_sources(trees) if trees else files_as_sources(files)
        return [_captured(sources, f"{kind} {' '.join(map(str, trees or files))}")]
    return [_recorded(seconds)]


def _tell(report: ContentionReport, most: int, color: str, *, as_json: bool) -> None:
    from tuneagent.app import output

    if as_json:
        from tuneagent.report.contention_json import to_json

        output.emit_json(to_json(report))
    else:
        from tuneagent.report.contention_text import document

        output.emit(document(report, most), color)


def _recorded(seconds: float) -> ContentionReport:
    from tuneagent.app import lock_look, output
    from tuneagent.machine import own_cost
    from tuneagent.machine.live import Live
    from tuneagent.model.cost import AgentCost

    began = time.monotonic()
    live = Live()
    try:
        before = lock_look.counted(live)
        live.record_locks(seconds)
        waiting = time.monotonic()
        output.wait_quietly_or_visibly(seconds, "recording waits for locks")
        waited = time.monotonic() - waiting
        report = _report(THIS_MACHINE, lock_look.compared(before, lock_look.whole(live)))
    finally:
        live.close()
    beyond = time.monotonic() - began - waited
    return replace(report, cost=AgentCost(own_cost.cpu_seconds(), None, beyond, own_cost.peak_rss_bytes()))


def _captured(sources: list[Source], origin: str) -> ContentionReport:
    from tuneagent.app import lock_look
    from tuneagent.app.inputs import InputError

    if len(sources) > MOST_MOMENTS:
        raise InputError(f"{origin}: {len(sources)} samples; one moment or two can be looked at")
    return _report(origin, lock_look.compared(*(lock_look.whole(source) for source in sources)))


def _imported(file: Path) -> ContentionReport:
    from tuneagent.app import lock_look, perf_files
    from tuneagent.app.inputs import InputError

    told = perf_files.read(file)
    if told.record is not None:
        perf_files.warn(told)
        return replace(_report(str(file), lock_look.of_record(told.record)), of_machine=False)
    if told.locks is None:
        raise InputError(f"{file}: no waits for locks in it: `tuneagent profile` reads such files")
    perf_files.warn(told)
    from tuneagent.model.contention_report import ContentionReport

    return ContentionReport(__version__, str(file), None, None, told.locks, (), None, of_machine=False)


def _report(origin: str, view: Any) -> ContentionReport:
    from tuneagent.app import lock_look
    from tuneagent.model.contention_report import ContentionReport

    missing = lock_look.about_locks(view.missing)
    return ContentionReport(__version__, origin, view.contention, view.lock_stat, None, missing, None)

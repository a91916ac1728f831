"""``tuneagent profile``: where the kernel's time goes, and what changed since."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tuneagent import __version__
from tuneagent.app import exits, options

if TYPE_CHECKING:
    from tuneagent.model.cpuset import CpuSet
    from tuneagent.model.profile import Profile, ProfileDiff

DEFAULT_S = 2.0
LONGEST_S = 3600.0
DEFAULT_ROWS = 30
MOST_ROWS = 100_000
F = TypeVar("F", bound=Callable[..., Any])


def _top(function: F) -> F:
    rows = click.IntRange(1, MOST_ROWS)
    text = "Show so many symbols; --json has all."
    return click.option("--top", "most", type=rows, default=DEFAULT_ROWS, show_default=True, metavar="N", help=text)(
        function
    )


@click.group(invoke_without_command=True)
@options.seconds(DEFAULT_S, LONGEST_S, "How long to take samples.")
@click.option("--cpu", "cpus", metavar="LIST", help="Only these CPUs, as in 0-3,8.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), metavar="FILE", help="Keep it, mode 0600.")
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
@click.option(
    "--import",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read a text of `perf report --stdio` or `perf script`, or a kept profile, in place of this machine; "
    "may be given again.",
)
@_top
@options.as_json
@options.colour
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Sample the CPUs and rank the kernel's functions by the time they take: where a hot counter shows that is no lock.

    It samples cycles where the machine counts them, else a timer, and needs root (CAP_PERFMON). `profile diff A B`
    ranks what changed between two profiles, `profile show FILE` prints a kept one.
    """
    if ctx.invoked_subcommand is not None:
        return exits.DONE
    return _profile(ctx, **given)


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@_top
@options.as_json
@options.colour
def show(*, file: Path, most: int, as_json: bool, color: str) -> int:
    """Print a kept profile, or one of a text of perf."""
    from tuneagent.app import perf_files

    _tell(perf_files.profile(file), most, color, as_json=as_json)
    return exits.DONE


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="OLD [NEW]")
@_top
@click.option("--all", "every", is_flag=True, help="Also the symbols whose difference is within noise.")
@click.option(
    "--order",
    type=click.Choice(["delta", "baseline"]),
    default="delta",
    show_default=True,
    help="Largest difference or largest old share first.",
)
@options.as_json
@options.colour
def diff(*, files: tuple[Path, ...], most: int, every: bool, order: str, as_json: bool, color: str) -> int:
    """Rank the kernel's functions by how much their shares differ.

    OLD and NEW are kept profiles or texts of `perf report --stdio` or `perf script`; OLD alone is one of `perf diff`.
    A difference that sampling alone can make is said to be within noise.
    """
    from tuneagent.app import output
    from tuneagent.diagnose import diagnose_deltas
    from tuneagent.model.profile import UNNAMED

    made = _difference(files, order)
    judgements = diagnose_deltas([one for one in made.deltas if not one.within_noise or one.symbol == UNNAMED])
    if as_json:
        from tuneagent.report.profile_json import diff_to_json

        output.emit_json(diff_to_json(made, __version__, judgements))
    else:
        from tuneagent.report.profile_text import diff_document

        output.emit(diff_document(made, most, judgements, every=every), color)
    return exits.DONE


def _profile(
    ctx: click.Context,
    *,
    seconds: float,
    cpus: str | None,
    file: Path | None,
    force: bool,
    files: tuple[Path, ...],
    most: int,
    as_json: bool,
    color: str,
) -> int:
    if files and (cpus is not None or _stated(ctx, "seconds")):
        raise click.UsageError("--seconds and --cpu are for this machine, not for --import")
    if len(files) > 1 and (as_json or file is not None):
        raise click.UsageError("give one --import with --json or --output: each is one profile")
    if file is not None and not force and os.path.lexists(file):
        raise click.UsageError(f"{file} is there already; --force writes over a regular file")
    chosen = None if cpus is None else _cpu_list(cpus)
    if file is not None:
        from tuneagent.app import private_file

        private_file.check(file, over=force)  # an hour of samples is not to be lost to a slip in a name
    for place, profile in enumerate(_imported(files) if files else [_sampled(seconds, chosen)]):
        if place:
            click.echo()
        if file is not None:
            _keep(profile, file, force=force)
        _tell(profile, most, color, as_json=as_json)
    return exits.DONE


def _stated(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _cpu_list(text: str) -> CpuSet:
    from tuneagent.model.errors import ParseError
    from tuneagent.parse import cpulist

    try:
        return cpulist.parse(text)
    except ParseError as error:
        raise click.UsageError(f"--cpu: {error.detail}") from error


def _imported(files: tuple[Path, ...]) -> list[Profile]:
    from tuneagent.app import perf_files

    return [perf_files.profile(one) for one in files]


def _sampled(seconds: float, cpus: CpuSet | None) -> Profile:
    from tuneagent.app.refused import Refused
    from tuneagent.machine import perf_profile
    from tuneagent.model.errors import SourceError
    from tuneagent.parse import perf_profile as parse_profile

    try:
        return parse_profile.parse(perf_profile.sample(seconds, cpus))
    except SourceError as error:
        raise Refused(error) from error


def _keep(profile: Profile, file: Path, *, force: bool) -> None:
    import json

    from tuneagent.app import private_file

    text = json.dumps(_as_json(profile), ensure_ascii=True, allow_nan=False, indent=1)
    private_file.write(file, text + "\n", over=force)
    click.echo(f"wrote {file}", err=True)


def _as_json(profile: Profile) -> dict[str, Any]:
    from tuneagent.diagnose import diagnose_profile
    from tuneagent.profile.fold import fold
    from tuneagent.report.profile_json import to_json

    return to_json(fold(profile), __version__, diagnose_profile(profile))


def _tell(profile: Profile, most: int, color: str, *, as_json: bool) -> None:
    from tuneagent.app import output

    if as_json:
        output.emit_json(_as_json(profile))
        return
    from tuneagent.diagnose import diagnose_profile
    from tuneagent.profile.fold import fold
    from tuneagent.report.profile_text import document

    output.emit(document(fold(profile, most), diagnose_profile(profile)), color)


def _difference(files: tuple[Path, ...], order: str) -> ProfileDiff:
    from dataclasses import replace

    from tuneagent.profile.diff import by_baseline, by_delta

    if len(files) > 2:  # noqa: PLR2004 - old and new
        raise click.UsageError(f"{len(files)} files; a difference is of two, or one text of perf diff")
    made = _of_two(*files) if len(files) > 1 else _of_perf_diff(files[0])
    return replace(made, deltas=by_baseline(made.deltas) if order == "baseline" else by_delta(made.deltas))


def _of_two(old: Path, new: Path) -> ProfileDiff:
    from tuneagent.app import perf_files
    from tuneagent.profile.diff import compared

    return compared(perf_files.profile(old), perf_files.profile(new))


def _of_perf_diff(file: Path) -> ProfileDiff:
    from tuneagent.app import perf_files
    from tuneagent.model.profile import Basis, ProfileDiff

    told = perf_files.read(file)
    if told.deltas is None:
        raise click.UsageError(f"{file} is no text of perf diff; give two profiles")
    perf_files.warn(told)
    return ProfileDiff(None, None, Basis.ALL, told.deltas, ())

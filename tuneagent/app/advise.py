"""``tuneagent advise``: look twice, compare, judge, plan, tell. Has no way to write to the machine."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuneagent import __version__
from tuneagent.app import exits, options

if TYPE_CHECKING:
    from tuneagent.app.inputs import Sampled
    from tuneagent.model.advise import AdviseReport
    from tuneagent.model.cost import AgentCost


@click.command()
@options.interval(options.DEFAULT_S, "How long to look; between two trees without a clock, how far they are apart.")
@click.option("--once", is_flag=True, help="Take one sample only: configuration, no rates.")
@options.sysroot
@options.snapshots
@click.option("--nic", "names", multiple=True, metavar="NAME", help="Only this interface; may be given again.")
@options.policies
@click.option(
    "--policy",
    "asked",
    multiple=True,
    metavar="NAME",
    help="Work out this policy's changes even if no finding calls for it; may be given again.",
)
@options.as_json
@options.colour
@click.option("-v", "--verbose", is_flag=True, help="Also the numbers of what is well.")
@click.option("--strict", is_flag=True, help="Exit 5 when something could not be measured.")
@click.option(
    "--fail-on",
    type=click.Choice(["info", "warning", "critical"]),
    help="Exit 6 when a finding is at least this severe.",
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    interval_s: float,
    once: bool,
    trees: tuple[Path, ...],
    files: tuple[Path, ...],
    names: tuple[str, ...],
    directories: tuple[Path, ...],
    asked: tuple[str, ...],
    as_json: bool,
    color: str,
    verbose: bool,
    strict: bool,
    fail_on: str | None,
) -> int:
    """Say what is wrong with the virtio networking here, why, what to change, what that disrupts and how to undo it.

    Exit codes: 0 a report was made; 2 bad usage or input; 5 with --strict, partly measurable; 6 with --fail-on.
    """
    from tuneagent.app import inputs, output

    began = time.monotonic()
    stated = ctx.get_parameter_source("interval_s") is click.core.ParameterSource.COMMANDLINE
    if stated and (once or len(trees) == 1):
        raise click.UsageError("--interval needs two samples: leave out --once, or give --sysroot twice")
    sampled = inputs.sample(
        trees,
        files,
        interval_s,
        output.wait_quietly_or_visibly,
        stated=stated,
        once=once,
        meanwhile=lambda: _prepare(directories),
    )
    report = _report(sampled, names, directories, asked, began)
    if as_json:
        from tuneagent.report.advise_json import to_json

        output.emit_json(to_json(report))
    else:
        from tuneagent.report.advise_text import document

        output.emit(document(report, verbose=verbose), color)
    return _exit_code(report, strict=strict, fail_on=fail_on)


def _prepare(directories: tuple[Path, ...]) -> None:
    from tuneagent import diagnose, plan, report  # noqa: F401 - imported now so that it costs nothing later
    from tuneagent.app import policy_files
    from tuneagent.plan import solve  # noqa: F401 - the same
    from tuneagent.report import advise_json, advise_text  # noqa: F401 - the same

    policy_files.policies(directories)


def _report(
    sampled: Sampled, names: tuple[str, ...], directories: tuple[Path, ...], asked: tuple[str, ...], began: float
) -> AdviseReport:
    from tuneagent.app import policy_files
    from tuneagent.diagnose import diagnose
    from tuneagent.model.advise import AdviseReport
    from tuneagent.plan.solve import plan

    policies = policy_files.policies(directories)
    _check_policies(asked, [policy.name for policy in policies])
    view, judgements = sampled.view, diagnose(sampled.view)
    made = plan(view, judgements, policies, asked)
    if names:
        subjects = _known(sampled, names)
        judgements = tuple(one for one in judgements if one.subject in subjects)
        made = made.only(subjects)
    report = AdviseReport(
        version=__version__,
        origin=sampled.origin,
        view=view,
        judgements=judgements,
        plan=made,
        cost=None,
    )
    return replace(report, cost=_cost(sampled, began))


def _check_policies(asked: tuple[str, ...], names: list[str]) -> None:
    for name in asked:
        if name not in names:
            raise click.UsageError(f"no policy {name!r}; there are: {', '.join(sorted(names))}")


def _known(sampled: Sampled, names: tuple[str, ...]) -> frozenset[str]:
    here = {nic.name for nic in sampled.view.after.nics or ()}
    for name in names:
        if name not in here:
            raise click.UsageError(f"no interface {name!r} here; there are: {', '.join(sorted(here)) or 'none'}")
    return frozenset(names)


def _cost(sampled: Sampled, began: float) -> AgentCost:
    from tuneagent.machine import own_cost
    from tuneagent.model.cost import AgentCost

    return AgentCost(
        cpu_s=own_cost.cpu_seconds(),
        sampling_cpu_s=sampled.sampling_cpu_s,
        wall_beyond_interval_s=time.monotonic() - began - sampled.waited_s,
        peak_rss_bytes=own_cost.peak_rss_bytes(),
    )


def _exit_code(report: AdviseReport, *, strict: bool, fail_on: str | None) -> int:
    from tuneagent.model.finding import Severity

    if fail_on is not None and report.worst is not None and report.worst >= Severity[fail_on.upper()]:
        return exits.FOUND
    if strict and (report.view.missing or any(not one.idle for one in report.unjudged)):
        return exits.PARTIAL
    return exits.DONE

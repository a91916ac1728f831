"""``tuneagent advise``: look twice, compare, judge, plan, tell. Has no way to write to the machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from tuneagent.app import exits, options
from tuneagent.app.asked import Asked

if TYPE_CHECKING:
    from tuneagent.model.advise import AdviseReport


@click.command()
@options.interval(options.DEFAULT_S, "How long to look; between two trees without a clock, how far they are apart.")
@click.option("--once", is_flag=True, help="Take one sample only: configuration, no rates.")
@options.sysroot
@options.snapshots
@click.option("--nic", "nics", multiple=True, metavar="NAME", help="Only this interface; may be given again.")
@options.domains
@click.option(
    "--contention",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Record each wait for a lock with its stack: auto, where enough are counted to be worth its cost; never: do"
    " not count them either.",
)
@options.policies
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    help="Work out this policy's changes even if no finding calls for it; may be given again.",
)
@options.as_json
@options.colour
@click.option("-v", "--verbose", is_flag=True, help="Also the numbers of what is well, and every virtual machine.")
@click.option("--strict", is_flag=True, help="Exit 5 when something could not be measured.")
@click.option(
    "--fail-on",
    type=click.Choice(["info", "warning", "critical"]),
    help="Exit 6 when a finding is at least this severe.",
)
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Say what is wrong with the virtio networking here, why, what to change, what that disrupts and how to undo it.

    In a guest it looks at its own interfaces, on a KVM hypervisor at the virtual machines.

    Exit codes: 0 a report was made; 2 bad usage or input; 5 with --strict, partly measurable; 6 with --fail-on.
    """
    stated = ctx.get_parameter_source("interval_s") is click.core.ParameterSource.COMMANDLINE
    asked = Asked(stated=stated, **given)
    asked.check()
    from tuneagent.app import output, sampling

    began = time.monotonic()
    sampled = sampling.sample(asked, output.wait_quietly_or_visibly, lambda: _prepare(asked))
    from tuneagent.app import advising

    report = advising.report(sampled, asked, began)
    _tell(report, asked)
    return _exit_code(report, asked)


def _prepare(asked: Asked) -> None:
    from tuneagent.app import advising, policy_files  # noqa: F401 - imported now so that it costs nothing later

    if asked.as_json:
        from tuneagent.report import advise_json  # noqa: F401 - the same
    else:
        from tuneagent.report import advise_text  # noqa: F401 - the same
    policy_files.policies(asked.directories)


def _tell(report: AdviseReport, asked: Asked) -> None:
    from tuneagent.app import output

    if asked.as_json:
        from tuneagent.report.advise_json import to_json

        output.emit_json(to_json(report))
    else:
        from tuneagent.report.advise_text import document

        output.emit(document(report, verbose=asked.verbose), asked.color)


def _exit_code(report: AdviseReport, asked: Asked) -> int:
    from tuneagent.model.finding import Severity

    told = (report, *(guest.report for guest in report.guests))
    worst = max((one.worst for one in told if one.worst is not None), default=None)
    if asked.fail_on is not None and worst is not None and worst >= Severity[asked.fail_on.upper()]:
        return exits.FOUND
    if asked.strict and (any(map(_partly, told)) or len(report.guests) < _guests_asked(report)):
        return exits.PARTIAL
    return exits.DONE


def _partly(report: AdviseReport) -> bool:
    return bool(report.view.missing) or any(not one.idle for one in report.unjudged)


def _guests_asked(report: AdviseReport) -> int:
    host = report.view.hypervisor
    return sum(one.guest is not None for one in host.domains) if host else 0

"""``tuneagent apply``: work out the changes of policies or take those of a file, and make them as one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuneagent.app import options
from tuneagent.app.options import Seconds

if TYPE_CHECKING:
    from tuneagent.app.applying import Planner

MOST_CHANGES = 1000
LONGEST_CONFIRM_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Options:
    """One command line of ``apply``."""

    tree: Path | None
    state: Path | None
    check: bool
    diff: bool
    confirm_within_s: float | None
    max_changes: int
    include_journal_disk: bool
    as_json: bool
    color: str
    typed: str


@click.command()
@click.argument("policies", nargs=-1, metavar="[POLICY]...")
@click.option("--on", "nics", multiple=True, metavar="NIC", help="Only on this interface; may be given again.")
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="NAME",
    help="On a hypervisor: only on this virtual machine (name or UUID); may be given again.",
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Make the changes in this file, which `advise --json` or `apply --check --json` wrote.",
)
@click.option("--check", is_flag=True, help="Write nothing: say what would be changed.")
@click.option("--diff", is_flag=True, help="Tell each change as the line that goes and the line that comes.")
@click.option(
    "--live",
    is_flag=True,
    help="Also change the running device of a virtual machine, by detaching and attaching it: its link drops.",
)
@click.option(
    "--confirm-within",
    "confirm_within_s",
    type=Seconds(LONGEST_CONFIRM_S),
    metavar="SECONDS",
    help="Undo it all unless `tuneagent confirm` comes in time, also if this program is killed. By itself 60, where"
    " a change may stop traffic and you are at a terminal over ssh.",
)
@click.option(
    "--max-changes",
    type=click.IntRange(1, 10_000),
    default=MOST_CHANGES,
    show_default=True,
    metavar="N",
    help="Refuse a plan of more changes.",
)
@click.option("--in-container", is_flag=True, help="Try it in a container too, whose host's settings they are.")
@click.option(
    "--include-journal-disk", is_flag=True, help="Also move interrupts of the disk that the journal is written to."
)
@options.policies
@options.place
@options.connect
@options.as_json
@options.colour
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Make the changes of these policies, whether or not a finding calls for them: all of them, or none.

    Each old value is written down before its new one is written; what fails is taken back with all the rest.
    `tuneagent status` says how it stands, `tuneagent rollback` gives it back. Run it again: nothing is written.

    Exit codes: 0 done, or nothing to do; 1 failed, and everything is given back; 2 bad usage, policy or plan file,
    nothing was touched; 4 not permitted.
    """
    from tuneagent.app.applying import Ask, Planner

    ask = Ask(
        policies=tuple(dict.fromkeys(given.pop("policies"))),
        nics=given.pop("nics"),
        domains=given.pop("domains"),
        plan=given.pop("plan"),
        live=given.pop("live"),
        tree=given["tree"],
        directories=given.pop("directories"),
        connect=given.pop("connect"),
        in_container=given.pop("in_container"),
    )
    ask.check()
    chosen = Options(**given, typed=str(ctx.obj or "tuneagent apply"))
    if chosen.check:
        return _check(Planner(ask), chosen)
    from tuneagent.app.apply_run import run

    return run(ask, chosen)


def _check(planner: Planner, chosen: Options) -> int:
    """By the reading side alone."""
    from tuneagent.app import told
    from tuneagent.app.watch import Place
    from tuneagent.model.apply_report import Command, Result

    planned = planner.plan()
    made = told.report(
        Place(chosen.tree, chosen.state),
        Command.CHECK,
        Result.WOULD_CHANGE if planned else told.nothing_to_do(planner.declined),
        planned=planned,
        declined=planner.declined,
        notes=planner.notes,
    )
    return told.tell(made, as_json=chosen.as_json, color=chosen.color, diff=chosen.diff)

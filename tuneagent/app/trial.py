"""``tuneagent trial``: make a policy's changes and take them back in turn, measure both, keep them by the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tuneagent.app import options, trial_load, trial_options, trial_store
from tuneagent.app.applying import Ask
from tuneagent.app.trial_options import Wishes, taken


@dataclass(frozen=True, slots=True)
class Options:
    """One command line of ``trial``, without its policies, its load and its rounds."""

    ask: Ask
    guest_agent: bool
    state: Path | None
    store: Path | None
    keep: str
    as_json: bool
    color: str
    typed: str


@click.command(cls=trial_options.WithCommand)
@click.argument("policies", nargs=-1, metavar="[POLICY]... [-- WORD…]")
@click.option(
    "--plan",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Try the changes in this file, which `advise --json` or `apply --check --json` wrote.",
)
@trial_load.options
@trial_options.rounds
@trial_options.pairs
@click.option(
    "--keep",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Whether the changes stand afterwards: auto, where the verdict is to keep them.",
)
@trial_options.where
@trial_store.option
@options.as_json
@options.colour
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Measure what these policies do, in rounds with and without their changes, and keep them only if they help.

    Whatever happens, a kill or a power cut of the load's server too, the machine is as before; what is kept can be
    given back with `tuneagent rollback`. Each round is stored: `tuneagent report` tells of it.

    Exit codes: 0 there is a verdict, whichever; 1 there is none, and the machine is as before; 2 bad usage, policy or
    plan file, nothing was touched; 4 not permitted; 130 or 143 interrupted, and the machine is as before.
    """
    from tuneagent.app import trial_question, trialling

    given["seed"] = trial_question.seed(given["seed"])
    wishes = Wishes(**taken(given, trial_options.WISHES))
    wishes.check()
    load = trial_load.asked(**taken(given, trial_load.NAMES), words=ctx.meta.get(trial_options.WORDS, ()))
    ask = Ask(
        policies=tuple(dict.fromkeys(given.pop("policies"))),
        nics=given.pop("nics"),
        domains=given.pop("domains"),
        plan=given.pop("plan"),
        live=True,
        directories=given.pop("directories"),
        connect=given.pop("connect"),
        in_container=given.pop("in_container"),
    )
    ask.check()
    return trialling.run(load, wishes, Options(ask, **given, typed=str(ctx.obj or "tuneagent trial")))

"""``tuneagent tune``: find what is wrong, try what would mend it, keep what helps, and confirm all of it together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tuneagent.app import options, trial_load, trial_options, trial_store
from tuneagent.app.applying import Ask
from tuneagent.app.trial import Options
from tuneagent.app.trial_options import Wishes, taken
from tuneagent.measure.effect import PAIRS_LEAST

LONGEST_BUDGET_MIN = 1440.0


@click.command(cls=trial_options.WithCommand)
@click.argument("policies", nargs=-1, metavar="[POLICY]... [-- WORD…]")
@trial_load.options
@trial_options.rounds
@trial_options.pairs
@click.option(
    "--budget",
    "budget_min",
    type=options.Number(0.1, LONGEST_BUDGET_MIN),
    default=60.0,
    show_default=True,
    metavar="MINUTES",
    help="No trial is begun that cannot come to a verdict within it; only the confirmation may end a little later.",
)
@trial_options.where
@trial_store.option
@options.as_json
@options.colour
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Look at this machine under the load, try each policy that answers a finding, and keep those that are proven.

    POLICYs are tried as well, whether or not a finding calls for them. What most is expected of comes first; what is
    kept stands while the others are tried, and what lost before is tried once more beside it. Where several are kept,
    all of them together are tried against the machine as it was: only what that confirms stands in the end.

    Exit codes: 0 done, whatever was kept; 1 failed, and the machine is as before; 2 bad usage or policy; 4 not
    permitted; 130 or 143 interrupted, and the machine is as before.
    """
    from tuneagent.app import trial_question, tuning

    given["seed"] = trial_question.seed(given["seed"])
    wishes = Wishes(**taken(given, trial_options.WISHES))
    wishes.check()
    if wishes.pairs_max < PAIRS_LEAST:
        raise click.UsageError(f"--pairs-max: tune decides, and a verdict needs {PAIRS_LEAST} pairs or more")
    load = trial_load.asked(**taken(given, trial_load.NAMES), words=ctx.meta.get(trial_options.WORDS, ()))
    ask = Ask(
        policies=tuple(dict.fromkeys(given.pop("policies"))),
        nics=given.pop("nics"),
        domains=given.pop("domains"),
        live=True,
        directories=given.pop("directories"),
        connect=given.pop("connect"),
        in_container=given.pop("in_container"),
    )
    budget_s = 60 * float(given.pop("budget_min"))
    state: Path | None = given["state"]
    chosen = Options(ask, given["guest_agent"], state, given["store"], "auto", given["as_json"], given["color"],
                     str(ctx.obj or "tuneagent tune"))  # fmt: skip
    return tuning.run(load, wishes, chosen, budget_s)

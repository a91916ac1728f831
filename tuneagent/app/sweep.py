"""``tuneagent sweep``: measure several values of one setting in random order, and find the knee of their curve."""

from __future__ import annotations

from typing import Any

import click

from tuneagent.app import options, trial_load, trial_options, trial_store
from tuneagent.app.applying import Ask
from tuneagent.app.denied import BadRequest
from tuneagent.app.trial import Options
from tuneagent.app.trial_options import Wishes, taken

MOST_BLOCKS = 200


@click.command(cls=trial_options.WithCommand)
@click.argument("what", metavar="TUNABLE=VALUE,VALUE… [-- WORD…]")
@trial_load.options
@trial_options.rounds
@click.option(
    "--blocks",
    type=click.IntRange(1, MOST_BLOCKS),
    default=8,
    show_default=True,
    metavar="N",
    help="In each every value is measured once; fewer than 6 compare nothing.",
)
@trial_options.where
@trial_store.option
@options.as_json
@options.colour
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Measure each value of a setting: channels, rings, rx-usecs, napi_defer_hard_irqs, halt_poll_ns and others.

    Values are told in the order in which they are given, and compared with the first. The machine is as before
    afterwards; each value but the first is a trial in the store.

    Exit codes: 0 all was measured, whether or not there is a knee; 1 failed, and the machine is as before; 2 bad usage;
    4 not permitted; 130 or 143 interrupted, and the machine is as before.
    """
    from tuneagent.app import sweeping, trial_question
    from tuneagent.plan import sweepable

    try:
        name, values = sweepable.values(given.pop("what"))
    except sweepable.SweepError as error:
        raise BadRequest(str(error)) from error
    blocks = given.pop("blocks")
    given["seed"] = trial_question.seed(given["seed"])
    rest = {"pairs_max": blocks, "pairs_min": blocks, "threshold_percent": 0.0}
    names = ("round_s", "settle_s", "seed", "primary", "better")
    wishes = Wishes(**taken(given, names), **rest)
    wishes.check()
    load = trial_load.asked(**taken(given, trial_load.NAMES), words=ctx.meta.get(trial_options.WORDS, ()))
    ask = Ask(
        policies=(name,),
        nics=given.pop("nics"),
        domains=given.pop("domains"),
        directories=given.pop("directories"),
        connect=given.pop("connect"),
        in_container=given.pop("in_container"),
    )
    chosen = Options(ask, **given, keep="never", typed=str(ctx.obj or "tuneagent sweep"))
    return sweeping.run(load, wishes, chosen, sweeping.Swept(name, values))

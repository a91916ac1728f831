"""Options that trial, tune and sweep share, and what they make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from tuneagent.app import options, trial_load

F = TypeVar("F", bound=Callable[..., Any])
LONGEST_ROUND_S = 3600.0
MOST_PAIRS = 500
WORDS = "tuneagent.words"
"""In click's ``meta``: what follows -- on the command line."""


class WithCommand(click.Command):
    """A command whose words behind ``--`` are a program's and not its own arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, of what stands before it."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta[WORDS] = tuple(args[place + 1 :])
        return super().parse_args(ctx, args[:place])


def rounds(function: F) -> F:
    """How rounds are measured."""
    for option in reversed(_ROUNDS):
        function = option(function)
    return function


def pairs(function: F) -> F:
    """How many pairs of rounds there are."""
    for option in reversed(_PAIRS):
        function = option(function)
    return function


def where(function: F) -> F:
    """Which machine's, and which part of it."""
    for option in reversed(_WHERE):
        function = option(function)
    return function


_ROUNDS = (
    click.option(
        "--round",
        "round_s",
        type=options.Seconds(LONGEST_ROUND_S),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help="That a round measures.",
    ),
    click.option(
        "--settle",
        "settle_s",
        type=options.Number(0, 600),
        default=1.0,
        show_default=True,
        metavar="SECONDS",
        help="Before a round, after its switch.",
    ),
    click.option("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Of the order of rounds; else drawn."),
    click.option(
        "--primary",
        metavar="METRIC",
        help="What decides, by the name that --json has for it; else what is likely meant.",
    ),
    click.option("--better", type=click.Choice(["up", "down"]), help="Which way that metric should go, where unknown."),
)
_PAIRS = (
    click.option(
        "--pairs-max",
        type=click.IntRange(1, MOST_PAIRS),
        default=20,
        show_default=True,
        metavar="N",
        help="Pairs of rounds; a trial ends before where the verdict is clear.",
    ),
    click.option(
        "--pairs-min", type=click.IntRange(1, MOST_PAIRS), default=6, show_default=True, metavar="N", help="Of pairs."
    ),
    click.option(
        "--threshold",
        "threshold_percent",
        type=options.Number(0, 1000),
        default=0.0,
        show_default=True,
        metavar="PERCENT",
        help="A gain is one where its whole interval is above this.",
    ),
)
_WHERE = (
    click.option("--on", "nics", multiple=True, metavar="NIC", help="Only on this interface; may be given again."),
    click.option(
        "--domain",
        "domains",
        multiple=True,
        metavar="NAME",
        help="On a hypervisor: this virtual machine (name or UUID).",
    ),
    click.option(
        "--no-guest-agent",
        "guest_agent",
        flag_value=False,
        default=True,
        help="Run nothing in the guest of a --domain.",
    ),
    options.policies,
    options.connect,
    click.option("--in-container", is_flag=True, help="Try it in a container too, whose host's settings they are."),
    click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Where the journals are."),
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """How rounds are measured, by the options of ``rounds`` and ``pairs``."""

    round_s: float
    settle_s: float
    seed: int
    primary: str | None
    better: str | None
    pairs_max: int
    pairs_min: int
    threshold_percent: float

    def check(self) -> None:
        """UsageError where options contradict each other."""
        if self.pairs_min > self.pairs_max:
            raise click.UsageError("--pairs-min is more than --pairs-max")
        if self.primary == "":
            raise click.UsageError("--primary names no metric")


def taken(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """These parameters, which are the caller's no more."""
    return {name: given.pop(name) for name in names}


WISHES = ("round_s", "settle_s", "seed", "primary", "better", "pairs_max", "pairs_min", "threshold_percent")
load = trial_load.options

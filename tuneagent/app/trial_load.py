"""The load of a trial: what a command line asks for, and how a round runs it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from tuneagent.app import load as load_command
from tuneagent.app import token_file as tokens
from tuneagent.app.measuring import RunLoad
from tuneagent.load import loads
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.measure.askable import VALUE
from tuneagent.model.load import LoadKind, LoadResult, LoadSpec

F = TypeVar("F", bound=Callable[..., Any])
WARM_UP_S = 0.5
_AGAIN_S = 0.5
_KINDS = ("tcp-rr", "udp-rr", "sockperf", "netperf", "neper", "iperf3", "command", "passive")
_OPTIONS = (
    click.option(
        "--load",
        "kind",
        type=click.Choice(_KINDS),
        required=True,
        help="What makes the traffic of a round: passive, none of ours; command: the WORDs after --, whose last number"
        " is the result.",
    ),
    click.option("--to", callback=load_command.place_of, metavar="ADDRESS:PORT", help="The server, on the other side."),
    click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The token of `tuneagent load serve`, for tcp-rr and udp-rr.",
    ),
    click.option("--connections", type=click.IntRange(1), default=8, show_default=True, metavar="N"),
    click.option("--processes", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Of the load."),
    click.option("--request-bytes", type=click.IntRange(1), default=1, show_default=True, metavar="N"),
    click.option("--response-bytes", type=click.IntRange(1), default=1, show_default=True, metavar="N"),
    click.option(
        "--load-cpus",
        "cpus",
        default="",
        metavar="LIST",
        help="Pin the load's processes to these CPUs; else to some that do not take the measured interrupts, where"
        " there are four or more.",
    ),
)


def options(function: F) -> F:
    """The options that say what the load is."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


NAMES = ("kind", "to", "token_file", "connections", "processes", "request_bytes", "response_bytes", "cpus")
"""Of the options' parameters."""


@dataclass(frozen=True, slots=True)
class AskedLoad:
    """The load that a command line asks for, before its processes are placed."""

    spec: LoadSpec
    token: str


def asked(
    *, kind: str, to: tuple[str, int] | None, token_file: Path | None, words: tuple[str, ...], cpus: str, **numbers: int
) -> AskedLoad:
    """UsageError where the options contradict each other, InputError for a token that is none."""
    spec = load_command.spec_of(to=to, kind=kind, rate=None, cpus=cpus, words=words, burst=1, think_us=0, **numbers)
    if spec.kind in loads.OWN and token_file is None:
        raise click.UsageError(f"{spec.kind} needs the server's --token-file")
    if spec.kind is LoadKind.COMMAND and not spec.command:
        raise click.UsageError("--load command needs the command itself: -- WORD…")
    return AskedLoad(spec, tokens.read(token_file) if token_file is not None else "")


def runner(spec: LoadSpec, token: str, patience_s: float = 0.0) -> RunLoad:
    """Runs the load once a round. For ``patience_s`` it waits for a server that cannot be had yet: a link comes up.

    Of a program nobody knows whether it found its server: within that time it is run again whatever it failed of.
    """

    def run(seconds: float, hooks: Hooks, cool_down_s: float) -> LoadResult:
        end = time.monotonic() + patience_s
        while True:
            once = _Once(hooks)
            try:
                result = loads.run(
                    spec, seconds, token=token, warm_up_s=WARM_UP_S, cool_down_s=cool_down_s, hooks=once.hooks
                )
            except LoadError:
                if (once.began and spec.kind in loads.OWN) or time.monotonic() >= end:
                    raise
                time.sleep(_AGAIN_S)
                continue
            named = spec.kind is LoadKind.COMMAND and not result.unit
            return replace(result, unit=VALUE) if named else result

    return run


class _Once:
    """Remembers whether the measured seconds have begun: what fails later is no server that is not there yet."""

    def __init__(self, hooks: Hooks) -> None:
        self.began = False
        self._inner = hooks
        self.hooks = Hooks(began=self._begin, ended=hooks.ended)

    def _begin(self) -> None:
        self.began = True
        if self._inner.began is not None:
            self._inner.began()

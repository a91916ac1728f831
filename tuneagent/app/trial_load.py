"""The load of a trial: what a command line asks for, where its processes run, and how a round runs it."""

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
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.model.irq import IrqLine
from tuneagent.model.load import LoadKind, LoadResult, LoadSpec
from tuneagent.model.plan import Change, TunableKind
from tuneagent.model.snapshot import Snapshot
from tuneagent.parse import cpulist
from tuneagent.report.values import plural

F = TypeVar("F", bound=Callable[..., Any])
VALUE = "value"
"""What a user's command prints, as a metric of a round."""
ENOUGH_CPUS = 4
"""With fewer the load cannot keep away from what it measures."""
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


def placed(spec: LoadSpec, seen: Snapshot, avoided: CpuSet) -> tuple[LoadSpec, str]:
    """The load with its processes on CPUs, the same in all rounds: unpinned ones make rounds bistable.

    And in words where they are.
    """
    if spec.kind is LoadKind.PASSIVE:
        return spec, "no load is run"
    if spec.cpus:
        return spec, f"on CPUs {CpuSet.of(spec.cpus)}, as was asked for"
    topology = seen.cpus
    online = (topology.confined_to or topology.online) if topology is not None else CpuSet()
    if not online:
        return spec, "not pinned, for which CPUs there are is not known: rounds may fall into two groups"
    free = online - avoided
    apart = len(online) >= ENOUGH_CPUS and bool(free)
    cpus = tuple(free if apart else online)[-spec.processes :]
    told = "away from the measured interrupts" if apart else "where measured interrupts may be handled too"
    few = "" if len(online) >= ENOUGH_CPUS else f", for it has {plural(len(online), 'CPU')}"
    return replace(spec, cpus=cpus), f"on CPUs {CpuSet.of(cpus)}, {told}{few}"


def interrupted(seen: Snapshot, names: tuple[str, ...], changes: tuple[Change, ...]) -> CpuSet:
    """CPUs that take these interfaces' interrupts in either state, with their siblings."""
    nics = [one for one in seen.nics or () if one.name in names] if names else seen.virtio_nics
    lines = [seen.irq(irq.irq) for nic in nics for irq in nic.data_irqs_in_use]
    taken = CpuSet()
    for line in lines:
        taken |= _places(line)
    for change in changes:
        if change.kind is TunableKind.IRQ_AFFINITY:
            taken |= _parsed(change.new)
    for core in seen.cpus.cores if seen.cpus is not None else ():
        taken |= core if core & taken else CpuSet()
    return taken


def _places(line: IrqLine | None) -> CpuSet:
    return line.served_by if line is not None else CpuSet()


def _parsed(text: str) -> CpuSet:
    try:
        return cpulist.parse(text)
    except ParseError:
        return CpuSet()


def runner(spec: LoadSpec, token: str, patience_s: float = 0.0) -> RunLoad:
    """Runs the load once a round. For ``patience_s`` it waits for a server that cannot be had yet: a link comes up."""

    def run(seconds: float, hooks: Hooks, cool_down_s: float) -> LoadResult:
        end = time.monotonic() + patience_s
        while True:
            once = _Once(hooks)
            try:
                result = loads.run(
                    spec, seconds, token=token, warm_up_s=WARM_UP_S, cool_down_s=cool_down_s, hooks=once.hooks
                )
            except LoadError:
                if once.began or time.monotonic() >= end:
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

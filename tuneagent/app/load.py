"""``tuneagent load``: a server of requests on one machine, a load from another, and what it measured."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuneagent.app import exits, options
from tuneagent.load.limits import LEAST_RATE, MOST_RATE

if TYPE_CHECKING:
    from tuneagent.model.load import LoadSpec

LONGEST_RUN_S = 86_400.0
DEFAULT_FOR_S = 3600.0
DEFAULT_IDLE_S = 600.0
_HOST = re.compile(r"(?:\[(?P<six>[^\]\s]+)\]|(?P<host>[^:\[\]\s]+))(?::(?P<port>\d{1,5}))?")
_LAST_PORT = 65535
_KINDS = ("tcp-rr", "udp-rr", "sockperf", "netperf", "neper", "iperf3", "command")
_CPUS = click.option("--cpus", default="", metavar="LIST", help="Pin its processes to these CPUs, as 0,2-3.")
_SHARED = "One word of 16 characters or more, the same on both sides; only its owner may read the file. "


def place_of(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, int] | None:  # noqa: ARG001 - click's
    """ADDRESS:PORT, NAME:PORT or [IPV6]:PORT as host and port; 0 for none, where a program has its own."""
    if value is None:
        return None
    match = _HOST.fullmatch(value)
    if match is None or int(match["port"] or 0) > _LAST_PORT:
        raise click.BadParameter(f"{value!r} is no ADDRESS:PORT; an IPv6 address stands in brackets: [::1]:PORT")
    return match["six"] or match["host"], int(match["port"] or 0)


@click.group()
def command() -> None:
    """Measure request and response rates between two machines: serve on one of them, run on the other."""


@command.command()
@click.option(
    "--listen",
    required=True,
    metavar="ADDRESS",
    help="Of this machine, to listen on: no other hears; 0.0.0.0 is all.",
)
@click.option("--port", type=click.IntRange(0, _LAST_PORT), default=0, help="Else one that is free, which is printed.")
@click.option(
    "--token-file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=_SHARED + '"-": make one and print it.',
)
@click.option(
    "--processes", type=click.IntRange(1, 256), default=1, show_default=True, metavar="N", help="That answer."
)
@click.option(
    "--for", "for_s", type=options.Seconds(), default=DEFAULT_FOR_S, show_default=True, metavar="SECONDS",
    help="It ends by itself after this time.",
)  # fmt: skip
@click.option(
    "--idle", "idle_s", type=options.Number(0, LONGEST_RUN_S), default=DEFAULT_IDLE_S, show_default=True,
    metavar="SECONDS", help="It ends this long after its client has gone and none came; 0: with its first client.",
)  # fmt: skip
@_CPUS
@options.as_json
def serve(
    *,
    listen: str,
    port: int,
    token_file: Path,
    processes: int,
    for_s: float,
    idle_s: float,
    cpus: str,
    as_json: bool,
) -> int:
    """Answer the requests of `tuneagent load run`, for one client at a time that knows the token. Needs no root.

    Prints the address and the port, and then why it ended. TCP comes to that port; each connection of a UDP load has a
    port of its own, above 1023, that hears its client alone.
    """
    from tuneagent.app import load_failed, output
    from tuneagent.app import token_file as tokens
    from tuneagent.load.server import Server, ServerSpec

    make = str(token_file) == "-"
    token = tokens.made() if make else tokens.read(token_file)
    with load_failed.told(), Server(ServerSpec(listen, token, port, processes, for_s, idle_s, _cpus(cpus))) as server:
        address, port = server.address
        if as_json:
            output.emit_json(
                {
                    "schema": "tuneagent.load-server/1",
                    "address": address,
                    "port": port,
                    "token": token if make else None,
                }
            )
        else:
            click.echo(f"listening on {_shown(address, port)}" + (f"\ntoken {token}" if make else ""))
        sys.stdout.flush()
        why = server.run()
    if not as_json:
        click.echo(f"ended: {why}")
    return exits.DONE


@command.command()
@click.option("--to", callback=place_of, metavar="ADDRESS:PORT", help="The server; not needed by a command.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=_SHARED + '"-": standard input. For tcp-rr and udp-rr.',
)
@click.option("--kind", type=click.Choice(_KINDS), default="tcp-rr", show_default=True, help="What makes the load.")
@options.seconds(5.0, LONGEST_RUN_S, "That are measured.")
@click.option(
    "--warm-up", "warm_up_s", type=options.Number(0, 3600), default=0.5, show_default=True, metavar="SECONDS",
    help="Before them, not counted.",
)  # fmt: skip
@click.option("--connections", type=click.IntRange(1), default=1, show_default=True, metavar="N")
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Of the load.")
@click.option("--request-bytes", type=click.IntRange(1), default=1, show_default=True, metavar="N")
@click.option("--response-bytes", type=click.IntRange(1), default=1, show_default=True, metavar="N")
@click.option(
    "--burst",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Requests in flight on a connection.",
)
@click.option(
    "--think-us", type=click.IntRange(0), default=0, metavar="N", help="Between an answer and the next request."
)
@click.option(
    "--rate", type=options.Number(LEAST_RATE, MOST_RATE), metavar="N",
    help="Requests a second over all connections, sent when they are due, whatever comes back: an open loop.",
)  # fmt: skip
@_CPUS
@options.as_json
@options.colour
@click.argument("words", nargs=-1, metavar="[-- WORD…]")
def run(
    *,
    token_file: Path | None,
    seconds: float,
    warm_up_s: float,
    as_json: bool,
    color: str,
    **wishes: Any,
) -> int:
    """Run a load against `tuneagent load serve` or the server of another program, and say how fast it was.

    WORDs after -- are further options of sockperf, netperf, neper or iperf3, or with --kind command the command itself:
    the last number of its last line is the result.
    """
    from tuneagent import __version__
    from tuneagent.app import load_failed, output
    from tuneagent.app import token_file as tokens
    from tuneagent.load import loads

    spec = spec_of(**wishes)
    if spec.kind in loads.OWN and token_file is None:
        raise click.UsageError(f"{spec.kind} needs the server's --token-file")
    token = tokens.read(token_file) if token_file is not None else ""
    with load_failed.told():
        result = loads.run(spec, seconds, token=token, warm_up_s=warm_up_s)
    if as_json:
        from tuneagent.report.load_json import to_json

        output.emit_json(to_json(spec, result, __version__))
    else:
        from tuneagent.report.load_text import document

        output.emit(document(spec, result), color)
    return exits.DONE


def spec_of(
    *, to: tuple[str, int] | None, kind: str, rate: float | None, cpus: str, words: tuple[str, ...], **numbers: int
) -> LoadSpec:
    """The load that the options ask for; UsageError where they contradict each other."""
    from tuneagent.load import loads
    from tuneagent.model.load import LoadKind, LoadSpec

    which = LoadKind(kind)
    host, port = to or ("", 0)
    if not host and which not in {LoadKind.COMMAND, LoadKind.PASSIVE}:
        raise click.UsageError(f"{kind} needs --to ADDRESS:PORT")
    if which in loads.OWN and not port:
        raise click.UsageError(f"{kind} needs the port that the server printed: --to ADDRESS:PORT")
    if words and (which in loads.OWN or which is LoadKind.PASSIVE):
        raise click.UsageError(f"{kind} takes no further words")
    return LoadSpec(which, host, port, rate_per_sec=rate, cpus=_cpus(cpus), command=words, **numbers)


def _cpus(text: str) -> tuple[int, ...]:
    from tuneagent.model.errors import ParseError
    from tuneagent.parse import cpulist

    try:
        return tuple(cpulist.parse(text))
    except ParseError as error:
        raise click.UsageError(f"--cpus: {error}") from error


def _shown(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"

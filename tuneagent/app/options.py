"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
SHORTEST_S = 0.1
LONGEST_S = 3600.0
DEFAULT_S = 3.0
"""Long enough for a few thousand interrupts under load and for 300 clock ticks a CPU; short enough to wait for."""


def sysroot(function: F) -> F:
    """--sysroot DIR, once or twice."""
    return click.option(
        "--sysroot",
        "trees",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Read a captured tree (proc/, sys/, etc/) instead of this machine. Twice: before and after.",
    )(function)


def snapshots(function: F) -> F:
    """--snapshot FILE, once or twice."""
    return click.option(
        "--snapshot",
        "files",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Read a file of `tuneagent snapshot` instead of this machine. Twice: before and after.",
    )(function)


def interval(default: float | None, text: str) -> Callable[[F], F]:
    """--interval SECONDS."""
    kind = click.FloatRange(SHORTEST_S, LONGEST_S)
    return click.option("--interval", "interval_s", type=kind, default=default, metavar="SECONDS", help=text)


def as_json(function: F) -> F:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="For programs; see `tuneagent explain json`.")(function)


def colour(function: F) -> F:
    """--color."""
    choice = click.Choice(["auto", "always", "never"])
    return click.option("--color", type=choice, default="auto", help="auto: on a terminal, unless NO_COLOR is set.")(
        function
    )

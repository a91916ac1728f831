"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
SHORTEST_S = 0.1
LONGEST_S = 86_400.0
DEFAULT_S = 3.0
"""Long enough for a few thousand interrupts under load and for 300 clock ticks a CPU; short enough to wait for."""


class Number(click.FloatRange):
    """A number in a range; "nan" is a float, in no range and outside of none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or click's error."""
        found = super().convert(value, param, ctx)
        if found != found:  # noqa: PLR0124 - true of nan alone
            self.fail(f"{value!r} is no number", param, ctx)
        return found


class Seconds(Number):
    """A time to wait."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        super().__init__(SHORTEST_S, longest_s)


_TWICE = " Twice: before and after."


def sysroot(function: F) -> F:
    """--sysroot DIR, once or twice."""
    return _tree(_TWICE)(function)


def one_sysroot(function: F) -> F:
    """--sysroot DIR, for a command that looks at one moment and refuses a second."""
    return _tree("")(function)


def snapshots(function: F) -> F:
    """--snapshot FILE, once or twice."""
    return _file(_TWICE)(function)


def one_snapshot(function: F) -> F:
    """--snapshot FILE, for a command that looks at one moment and refuses a second."""
    return _file("")(function)


def _tree(more: str) -> Callable[[F], F]:
    return click.option(
        "--sysroot",
        "trees",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help=f"Read a captured tree (proc/, sys/, etc/) instead of this machine.{more}",
    )


def _file(more: str) -> Callable[[F], F]:
    return click.option(
        "--snapshot",
        "files",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Read a file of `tuneagent snapshot` instead of this machine.{more}",
    )


def policies(function: F) -> F:
    """--policies DIR, as often as wanted."""
    return click.option(
        "--policies",
        "directories",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="More policies beside the shipped ones.",
    )(function)


def interval(default: float | None, text: str) -> Callable[[F], F]:
    """--interval SECONDS."""
    return click.option("--interval", "interval_s", type=Seconds(), default=default, metavar="SECONDS", help=text)


def seconds(default: float, longest_s: float, text: str) -> Callable[[F], F]:
    """--seconds N."""
    kind = Seconds(longest_s)
    return click.option("--seconds", type=kind, default=default, show_default=True, metavar="N", help=text)


def as_json(function: F) -> F:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="For programs; see `tuneagent explain json`.")(function)


def colour(function: F) -> F:
    """--color."""
    choice = click.Choice(["auto", "always", "never"])
    return click.option("--color", type=choice, default="auto", help="auto: on a terminal, unless NO_COLOR is set.")(
        function
    )


def connect(function: F) -> F:
    """--connect URI, as often as wanted."""
    return click.option(
        "--connect",
        multiple=True,
        metavar="URI",
        help="Ask this libvirt for virtual machines, as `virsh -c URI` does, in place of the usual ones; "
        "may be given again.",
    )(function)


def domains(function: F) -> F:
    """The options that are about virtual machines and the inside of them."""
    for option in reversed(_DOMAINS):
        function = option(function)
    return function


def place(function: F) -> F:
    """The options that say which machine's transactions are meant."""
    for option in reversed(_PLACE):
        function = option(function)
    return function


_PLACE = (
    click.option(
        "--sysroot",
        "tree",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="A captured tree (proc/, sys/, etc/) to try it on, in place of this machine; only its files are written.",
    ),
    click.option(
        "--state",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Where the journals are; else /var/lib/tuneagent, below the --sysroot where one is given.",
    ),
)
_DOMAINS = (
    click.option(
        "--domain",
        "domains",
        multiple=True,
        metavar="NAME",
        help="On a hypervisor: this virtual machine (name or UUID) in full, and its guest asked through the QEMU guest "
        "agent, if it runs there; may be given again.",
    ),
    click.option(
        "--no-guest-agent",
        "guest_agent",
        flag_value=False,
        default=True,
        help="Run nothing in the guest of a --domain.",
    ),
    click.option(
        "--guest-snapshot",
        "guest_files",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="What `tuneagent snapshot` wrote in the guest of --domain, in place of its guest agent.",
    ),
    connect,
    click.option(
        "--allow-monitor",
        is_flag=True,
        help="Also ask QEMU's monitor which features were negotiated. libvirt then calls the domains tainted "
        '"custom-monitor", until they are started anew.',
    ),
)

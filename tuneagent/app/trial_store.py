"""Where the trials are kept, and what their store says when it cannot do what it was asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tuneagent.app.denied import BadRequest, Denied, Forbidden
from tuneagent.record.errors import StoreError, Trouble

if TYPE_CHECKING:
    from tuneagent.record.store import Store

NAME = "trials.db"
_SYSTEM = "/var/lib/tuneagent"
_KINDS: dict[Trouble, type[Denied]] = {
    Trouble.FORBIDDEN: Forbidden,
    Trouble.REFUSED: BadRequest,
    Trouble.MISSING: BadRequest,
    Trouble.FOREIGN: BadRequest,
}
F = TypeVar("F", bound=Callable[..., Any])


def option(function: F) -> F:
    """--store FILE."""
    return click.option(
        "--store",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"Where the trials are; else {_SYSTEM}/{NAME} for root, and below ~/.local/state for others.",
    )(function)


def default_path() -> Path:
    """Root's belong to the machine; another user's are below XDG_STATE_HOME, which counts where it is absolute."""
    if os.geteuid() == 0:
        return Path(_SYSTEM, NAME)
    told = os.environ.get("XDG_STATE_HOME", "")
    state = Path(told) if os.path.isabs(told) else Path.home() / ".local" / "state"  # noqa: PTH117 - of a text
    return state / "tuneagent" / NAME


@contextmanager
def opened(path: Path | None, *, make: bool = False) -> Iterator[Store]:
    """The store; a click error with one line and the exit code that goes with it, also for what fails within."""
    from tuneagent.record.store import Store

    if not make and not is_there(path):
        raise BadRequest(f"{path or default_path()}: no trial was measured yet")
    with told(), Store(str(path or default_path()), make=make) as store:
        yield store


@contextmanager
def told() -> Iterator[None]:
    """A StoreError as what it means here."""
    try:
        yield
    except StoreError as error:
        raise _KINDS.get(error.trouble, Denied)(str(error)) from error


def is_there(path: Path | None) -> bool:
    """Whether there is anything to open: before the first trial there is no store, and nothing is wrong."""
    return os.path.lexists(path or default_path())

"""Telling what an apply, a confirm or a rollback came to."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuneagent import __version__
from tuneagent.app import exits
from tuneagent.model.apply_report import ApplyReport, Command, Result
from tuneagent.model.transaction import Outcome, Transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuneagent.app.watch import Place
    from tuneagent.model.plan import Declined

THIS_MACHINE = "this machine"
_ALREADY = "already"
"""How the solvers' reasons begin where a policy has nothing to do because all is as it wants it."""
_CODES = {Result.FAILED: exits.FAILED, Result.STUCK: exits.FAILED, Result.TOO_LATE: exits.FAILED}


def origin(tree: Path | None) -> str:
    """As reports name it."""
    return THIS_MACHINE if tree is None else f"tree {tree}"


def report(place: Place, command: Command, result: Result, **more: Any) -> ApplyReport:
    """A report of this version."""
    return ApplyReport(__version__, origin(place.tree), command, result, options=shlex.join(place.options), **more)


def nothing_to_do(declined: Sequence[Declined]) -> Result:
    """Whether all is so already, or nothing can be done."""
    return Result.ALREADY_SO if all(one.reason.startswith(_ALREADY) for one in declined) else Result.DECLINED


def has_stuck(transactions: Iterable[Transaction]) -> bool:
    """Whether something is still ours and could not be given back."""
    return any(entry.outcome is Outcome.STUCK for one in transactions for entry in one.entries)


def exit_code(made: ApplyReport) -> int:
    """What goes with its result."""
    return _CODES.get(made.result, exits.DONE)


def tell(made: ApplyReport, *, as_json: bool, color: str, diff: bool = False) -> int:
    """Writes the report, and gives the exit code that goes with its result.

    That it cannot be written changes no code: what was done is done, and 1 would say that all is given back.
    """
    from tuneagent.app import output

    try:
        _write(made, as_json=as_json, color=color, diff=diff)
        sys.stdout.flush()
    except OSError as error:
        output.discard()
        if not isinstance(error, BrokenPipeError):
            words = f"{made.result}, but the report cannot be written: {error.strerror or error}"
            with suppress(OSError):
                click.echo(f"tuneagent: {words}; `tuneagent status` tells what stands", err=True)
    return exit_code(made)


def _write(made: ApplyReport, *, as_json: bool, color: str, diff: bool) -> None:
    from tuneagent.app import output

    if as_json:
        from tuneagent.report.apply_json import to_json

        output.emit_json(to_json(made))
    else:
        from tuneagent.report.apply_text import document

        output.emit(document(made, diff=diff), color)

"""Telling what an apply, a confirm or a rollback came to."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def tell(made: ApplyReport, *, as_json: bool, color: str, diff: bool = False) -> int:
    """Writes the report, and gives the exit code that goes with its result."""
    from tuneagent.app import output

    if as_json:
        from tuneagent.report.apply_json import to_json

        output.emit_json(to_json(made))
    else:
        from tuneagent.report.apply_text import document

        output.emit(document(made, diff=diff), color)
    return _CODES.get(made.result, exits.DONE)

"""``tuneagent history``: the trials that were measured here or read in, the newest first."""

from __future__ import annotations

from pathlib import Path

import click

from tuneagent.app import exits, options, trial_store
from tuneagent.model.trial import Decision, TrialState

LONGEST_LIST = 1_000_000


@click.command()
@click.option("--policy", metavar="NAME", help="Only trials of this policy.")
@click.option("--on", "subject", metavar="NIC", help="Only trials on this interface or virtual machine.")
@click.option("--state", type=click.Choice([one.value for one in TrialState]), help="Only trials that are so.")
@click.option("--verdict", type=click.Choice([one.value for one in Decision]), help="Only trials that came to this.")
@click.option("--limit", type=click.IntRange(1, LONGEST_LIST), default=50, show_default=True, metavar="N")
@click.option("--offset", type=click.IntRange(0, LONGEST_LIST), default=0, metavar="N", help="Leave out the newest N.")
@trial_store.option
@options.as_json
@options.colour
def command(
    *,
    policy: str | None,
    subject: str | None,
    state: str | None,
    verdict: str | None,
    limit: int,
    offset: int,
    store: Path | None,
    as_json: bool,
    color: str,
) -> int:
    """List the trials: when, of what, what they came to, and by how much. `tuneagent report ID` tells one in full.

    Exit codes: 0 done, also when there is none; 2 bad usage, or a store that cannot be read; 4 not permitted.
    """
    from tuneagent import __version__
    from tuneagent.app import output
    from tuneagent.model.history import TrialFilter, TrialSummary

    asked = TrialFilter(
        policy, subject, None if state is None else TrialState(state), None if verdict is None else Decision(verdict)
    )
    path = str(store or trial_store.default_path())
    rows: tuple[TrialSummary, ...] = ()
    total = 0
    if trial_store.is_there(store):
        with trial_store.opened(store) as trials:
            rows, total = trials.list(limit, offset, asked), trials.count(asked)
    if as_json:
        from tuneagent.report.history_json import to_json

        output.emit_json(to_json(rows, total, offset, path, __version__))
    else:
        from tuneagent.report.history_text import document

        output.emit(document(rows, total, offset, path, chosen=asked != TrialFilter()), color)
    return exits.DONE

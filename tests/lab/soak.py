"""How dependable the lab is: many starts of domains in one run, and what each took.

`python -m tests.lab.soak [STARTS]`, or `make soak`. Every other start is a boot from nothing, the rest restore a saved
state, as tests do. Ends with 1 when a start failed in every try it had.
"""

from __future__ import annotations

import signal
import sys
from statistics import median

from tests.lab.definition import Definition
from tests.lab.domain import Domain
from tests.lab.faults import LabBrokenError, Ledger
from tests.lab.lab import Lab, lab
from tests.lab.prerequisites import LAB
from tests.vm.prerequisites import sbin_in_path

STARTS = 20
BOOTED = Definition(twin=1)
"""A domain of its own: what the tests keep saved is left alone."""


def main(starts: int) -> int:
    """Runs it; the summary says how many starts there were, how many of them broke, and the times."""
    sbin_in_path()
    if missing := LAB.missing():
        sys.stderr.write(f"The lab needs {', '.join(missing)}.\n")
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended in order
    ledger = Ledger()
    try:
        with lab(ledger) as made:
            for number in range(starts):
                _boot(made) if number % 2 else made.domain(Definition())
                made.stop_domains()
                _say(f"{number + 1} of {starts}: {ledger.times[-1][0]} {ledger.times[-1][1]:.0f} s")
    except LabBrokenError as broken:
        _say(*ledger.rows(), f"broken: {broken}")
        return 1
    _say(*ledger.rows(), *_medians(ledger))
    return 0


def _boot(made: Lab) -> None:
    def boot() -> Domain:
        domain = Domain(made.hypervisor(), BOOTED, made.ledger)
        made.running.append(domain)
        domain.boot()
        made.ledger.boots += 1
        return domain

    made.tried(f"domain {BOOTED.name}", boot)


def _medians(ledger: Ledger) -> list[str]:
    by_kind: dict[str, list[float]] = {}
    for what, seconds in ledger.times:
        by_kind.setdefault(what.rpartition(": ")[2], []).append(seconds)
    return [
        f"{kind}: {len(took)} times, {min(took):.0f} to {max(took):.0f} s, median {median(took):.0f} s"
        for kind, took in by_kind.items()
    ]


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join((*lines, "")))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else STARTS))

"""Keeps looks at both sides of the lab, idle and loaded, as fixtures: `python -m tests.lab.capture`.

Writes tests/machines/lab-SIDE-KERNEL-LOAD.json. Read the golden reports on them (`make golden`) before committing any.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.lab import wheels
from tests.lab.definition import Definition
from tests.lab.domain import Domain, Guest
from tests.lab.faults import Ledger
from tests.lab.lab import lab
from tests.lab.traffic import arriving
from tests.machines.capture import keep
from tests.vm.kernel import SERIES
from tests.vm.prerequisites import sbin_in_path

SNAPSHOT = "/usr/local/bin/tuneagent snapshot --no-observed --interval 10"


def main() -> None:
    """Takes the captures: the guest's with kernel 6.1, the hypervisor's with both; under load without event index."""
    sbin_in_path()
    ledger = Ledger()
    with tempfile.TemporaryDirectory() as place:
        program = wheels.build(Path(__file__).parents[2], Path(place))
        for kernel in SERIES:
            with lab(ledger, program) as made:
                _both_loads(made.domain(Definition(), kernel), kernel, with_guest=kernel == "6.1")
    sys.stdout.write("\n".join((*ledger.rows(), "")))


def _both_loads(domain: Domain, kernel: str, *, with_guest: bool) -> None:
    sides: dict[str, Domain | Guest] = {f"hypervisor-{kernel}": domain}
    if with_guest:
        sides[f"guest-{kernel}"] = domain.guest
    _keep(sides, "idle")
    domain.exchange_nics(Definition(event_idx=False))
    with arriving(domain):
        _keep(sides, "loaded")


def _keep(sides: dict[str, Domain | Guest], load: str) -> None:
    """All sides over the same seconds, so that they can be joined. Nothing of a lab is private."""
    with ThreadPoolExecutor() as at_once:
        looks = {name: at_once.submit(side.run, SNAPSHOT) for name, side in sides.items()}
    for name, look in looks.items():
        keep(f"lab-{name}-{load}", look.result().checked(), private=False)


if __name__ == "__main__":
    main()

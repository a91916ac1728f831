"""See it work: a guest whose network tuning is broken on purpose, and what the agent says on both sides.

`python -m tests.lab.demo`, or `make demo`. Boots the lab, which takes minutes, and leaves nothing running.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from pathlib import Path

from tests.lab import wheels
from tests.lab.definition import Definition
from tests.lab.domain import Domain, Guest
from tests.lab.faults import Ledger
from tests.lab.lab import Lab, lab
from tests.lab.prerequisites import LAB
from tests.lab.traffic import arriving, queue_irqs
from tests.vm.prerequisites import sbin_in_path

PROGRAM = "/usr/local/bin/tuneagent"
PIN = "pin-queue-interrupts"


def main() -> int:
    """Runs it; 1 where something that the lab needs is missing."""
    sbin_in_path()
    if missing := LAB.missing():
        say(f"The lab needs {', '.join(missing)}.")
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended in order
    ledger = Ledger()
    with tempfile.TemporaryDirectory() as place:
        say("Building the wheel and booting a hypervisor and a guest under emulation; this takes minutes.")
        with lab(ledger, wheels.build(Path(__file__).parents[2], Path(place))) as made:
            show(made)
    say("", "Times", *(f"  {row}" for row in ledger.rows()))
    return 0


def show(made: Lab) -> None:
    """The story: break, look on both sides, change, look again."""
    domain = made.domain(Definition())
    head("A guest with two vCPUs and two queues, broken: no event index, all queue interrupts on vCPU 0")
    domain.exchange_nics(Definition(event_idx=False))
    break_placement(domain.guest)
    with arriving(domain):
        shown(domain.guest, "advise --interval 10")
        head("The same moment on the hypervisor, which asks the guest as well")
        shown(domain, f"advise --interval 10 --domain {domain.name}")
        head("In the guest again: irqbalance put aside, and the lines of the advice pasted")
        paste(domain.guest)
        shown(domain.guest, "advise --interval 10")


def break_placement(guest: Guest) -> None:
    """All queue interrupts on vCPU 0, and irqbalance running, which will move them as it likes."""
    writes = [f"echo 0 > /proc/irq/{irq}/smp_affinity_list" for irq in queue_irqs(guest).values()]
    commands = ["systemctl restart irqbalance", *writes]
    say(*(f"guest# {command}" for command in commands))
    guest.run(" && ".join(commands)).checked()


def paste(guest: Guest) -> None:
    """Do what the pin policy says now."""
    report = json.loads(guest.run(f"{PROGRAM} advise --json --interval 10 --policy {PIN}").checked())
    lines = [line for advice in report["advice"] if advice["policy"] == PIN for line in advice["do"]]
    say(*(f"guest# {line}" for line in lines))
    guest.run("\n".join(("set -e", *lines))).checked()


def shown(side: Domain | Guest, command: str) -> None:
    """What a command of the agent prints there."""
    place = "guest" if isinstance(side, Guest) else "hypervisor"
    say("", f"{place}# tuneagent {command}", side.run(f"{PROGRAM} {command}").checked())


def head(title: str) -> None:
    """A heading."""
    say("", title, "=" * len(title))


def say(*lines: str) -> None:
    """Lines on standard output, at once."""
    sys.stdout.write("\n".join((*lines, "")))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

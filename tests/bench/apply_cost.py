"""What an apply of 64 pins and a look at them cost, on a tree of 32 queues."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests import trees
from tests.apply.killing import BOOT, STATE
from tests.bench.measured import ROOT, Measured
from tuneagent.apply.journal import Store
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.apply.registry import actuators
from tuneagent.apply.transaction import Wanted, Work, run
from tuneagent.apply.undo import Undoing
from tuneagent.machine.state_directory import StateDirectory
from tuneagent.machine.sysroot import Sysroot
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.model.transaction import Writer

QUEUES = 32
PROGRAM = (sys.executable, "-c", "from tuneagent.app.main import main; main()")
_ON = ("apply", "pin-queue-interrupts")


def figures(scratch: Path, runs: int = 5) -> Iterator[Measured]:
    """The transaction alone, then the commands whole, with their start, their imports and their report."""
    away = {f"{side}.{queue}": str((queue + 1) % QUEUES) for queue in range(QUEUES) for side in ("input", "output")}
    tree = trees.guest(scratch / "pins", cpus=QUEUES, queues=QUEUES, effective=away)
    yield Measured("apply_64_pins_transaction_user_ms", median(_transaction_ms(tree) for _ in range(runs)), 200.0, runs)
    costs = [(_user_ms(tree, *_ON), _user_ms(tree, "status"), _user_ms(tree, "rollback")) for _ in range(runs)]
    applied, looked, _ = zip(*costs, strict=True)
    yield Measured("apply_64_pins_command_user_ms", median(applied), 200.0, runs)
    yield Measured("status_of_64_pins_command_user_ms", median(looked), 150.0, runs)
    yield Measured("journal_of_64_pins_kb", _journal_kb(tree), 256.0, 1)


def _transaction_ms(tree: Path) -> float:
    """User time: what the kernel takes for its files is its own."""
    wanted = [Wanted("pins", change) for change in _pins()]
    source = Sysroot(str(tree))
    machine = Machine(source, WritableRoot(str(tree)), Lookup(source))
    store = Store(StateDirectory(STATE, root=str(tree)))
    began = os.times().user
    made = run(
        Work(
            machine,
            actuators(machine),
            lambda: store.begin(
                boot_id=BOOT, version="1", writer=Writer(1, 1, "root"), command="", deadline=None, now_ns=1
            ),
            lambda _: None,
            settle_s=0.0,
        ),
        lambda: wanted,
    )
    cost = (os.times().user - began) * 1000
    assert made is not None
    assert len(made.entries) == 2 * QUEUES
    Undoing(machine, actuators(machine), lambda _: None).undo(store.open(made.id), "asked")
    return cost


def _pins() -> Iterator[Change]:
    for queue in range(QUEUES):
        for role in ("input", "output"):
            target = Target(trees.PCI, "virtio0", trees.MAC, queue, role, interface="eth0")
            yield Change(TunableKind.IRQ_AFFINITY, target, "", None, str(queue), "because", "", None)


def _user_ms(tree: Path, *words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = (*PROGRAM, *words, "--sysroot", str(tree))
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) * 1000


def _journal_kb(tree: Path) -> float:
    return max(file.stat().st_size for file in (tree / STATE[1:]).glob("*.journal")) / 1024

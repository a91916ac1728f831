"""Bans of two NICs in irqbalance's file as one transaction: killed at every step, undone, and told."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests import trees
from tests.apply import killing
from tests.apply.killing import BOOT, Site, Steps
from tuneagent.apply.registry import actuators
from tuneagent.apply.standing import Look
from tuneagent.apply.transaction import Wanted
from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.model.transaction import Outcome, Standing, State

ETH0 = Target(bus_address=trees.PCI, virtio="virtio0", mac=trees.MAC, interface="eth0")
ETH1 = replace(ETH0, bus_address="0000:00:04.0", parameter="OPTIONS=71,72", interface="eth1")
FILE = "etc/default/irqbalance"
BEFORE = b"# irqbalance\r\nOPTIONS=--debug  \n\nLAST=1"


def ban(target: Target, words: str) -> Wanted:
    new = f'OPTIONS="--debug {words}"'
    return Wanted("ban", Change(TunableKind.IRQBALANCE_BAN, target, "", None, new, "because", "", None))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = trees.guest(tmp_path / "root", cpus=2, queues=2)
    (root / FILE).parent.mkdir(parents=True, exist_ok=True)
    (root / FILE).write_bytes(BEFORE)
    return root


@pytest.fixture
def wanted(tree: Path) -> tuple[Wanted, ...]:
    irqs = trees.Guest(cpus=2, queues=2)
    own = " ".join(f"--banirq={irqs.irq(key)}" for key in ("input.0", "output.0", "input.1", "output.1"))
    assert (tree / FILE).exists()
    return ban(ETH0, own), ban(ETH1, "--banirq=71")


def test_both_stand_in_one_line_and_a_second_apply_has_nothing_to_do(tree: Path, wanted: tuple[Wanted, ...]) -> None:
    made = Site(tree).apply(wanted)
    assert made is not None
    assert [one.outcome for one in made.entries] == [Outcome.CHANGED] * 2
    written = (tree / FILE).read_bytes()
    assert written.count(b"--banirq=") == 5
    assert b'\nOPTIONS="--debug --banirq=' in written
    assert Site(tree).apply(wanted) is None
    machine = Site(tree).machine()
    status = Look(actuators(machine), BOOT).at(made)
    assert [one.standing for one in status.entries] == [Standing.NOT_YET] * 2, "irqbalance has not read it yet"
    (tree / FILE).write_bytes(written.replace(b" --banirq=71", b"").replace(b"LAST", b"FIRST"))
    status = Look(actuators(machine), BOOT).at(made)
    assert [one.standing for one in status.entries] == [Standing.NOT_YET, Standing.BACK]
    (undone,) = Site(tree).undo()
    assert undone.state is State.UNDONE
    assert (tree / FILE).read_bytes() == BEFORE.replace(b"LAST", b"FIRST")


def test_a_file_outlasts_a_reboot_and_so_does_the_way_back(tree: Path, wanted: tuple[Wanted, ...]) -> None:
    made = Site(tree).apply(wanted[:1])
    assert made is not None
    machine = Site(tree).machine()
    status = Look(actuators(machine), "ffffffff-bbbb-cccc-dddd-eeeeeeeeeeee").at(made)
    assert [one.standing for one in status.entries] == [Standing.NOT_YET]


def test_a_kill_at_every_step_is_made_good_by_one_rollback(tree: Path, wanted: tuple[Wanted, ...]) -> None:
    for step in count(1):
        ended = killing.in_child(lambda: Site(tree, Steps(step)).apply(wanted))  # noqa: B023 - called at once
        Site(tree).undo()
        assert (tree / FILE).read_bytes() == BEFORE, step
        if ended == killing.SURVIVED:
            break
    for step in count(1):
        Site(tree).apply(wanted)
        ended = killing.in_child(lambda: Site(tree, Steps(step)).undo())  # noqa: B023 - called at once
        Site(tree).undo()
        assert (tree / FILE).read_bytes() == BEFORE, step
        if ended == killing.SURVIVED:
            break
    assert step > 10

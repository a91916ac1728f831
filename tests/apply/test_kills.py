from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests import trees
from tests.apply import killing
from tests.apply.killing import Site, Steps
from tuneagent.apply.transaction import Wanted
from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.model.transaction import State

KILLED = -signal.SIGKILL
QUEUES = 8
NIC = Target(bus_address=trees.PCI, virtio="virtio0", mac=trees.MAC, interface="eth0")


def wanted() -> tuple[Wanted, ...]:
    """A pin for each queue interrupt, maps for each queue, and two values of the interface."""
    return tuple(Wanted("policy", change) for change in _changes())


def _changes() -> Iterator[Change]:
    for queue in range(QUEUES):
        for role in ("input", "output"):
            yield _change(TunableKind.IRQ_AFFINITY, str((queue + 1) % QUEUES), queue, role)
        yield _change(TunableKind.RPS_CPUS, "3", queue, "rx")
        yield _change(TunableKind.XPS_CPUS, "c", queue, "tx")
        yield _change(TunableKind.RPS_FLOW_COUNT, "64", queue, "rx")
    yield _change(TunableKind.NAPI_DEFER_HARD_IRQS, "2")
    yield _change(TunableKind.GRO_FLUSH_TIMEOUT, "200000")


def _change(kind: TunableKind, new: str, queue: int | None = None, role: str | None = None) -> Change:
    target = Target(NIC.bus_address, NIC.virtio, NIC.mac, queue, role, interface="eth0")
    return Change(kind, target, "", None, new, "because", "", None)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return trees.guest(tmp_path / "root", cpus=QUEUES, queues=QUEUES)


@pytest.mark.timeout(600)
def test_a_kill_at_every_step_of_an_apply_leaves_a_machine_that_one_rollback_gives_back(tree: Path) -> None:
    before = killing.content(tree)
    assert killing.in_child(lambda: Site(tree).apply(wanted())) == killing.SURVIVED
    after = killing.content(tree)
    assert len([path for path in before if before[path] != after[path]]) == len(wanted())
    Site(tree).undo()
    assert killing.content(tree) == before
    for step in count(1):
        ended = killing.in_child(lambda: Site(tree, Steps(step)).apply(wanted()))  # noqa: B023 - called at once
        left = killing.content(tree)
        newest = Site(tree).store().all()[-1]
        if newest.state is State.COMMITTED:
            assert left == after
        Site(tree).undo()
        assert killing.content(tree) == before, step
        if ended == killing.SURVIVED:
            break
        assert ended == KILLED
    assert step > 100  # the loop has ended where a process outlived all steps
    print(f"\nkilled {step - 1} times within an apply of {len(wanted())} changes")  # noqa: T201


@pytest.mark.timeout(600)
def test_a_kill_at_every_step_of_an_undo_is_made_good_by_the_next_undo(tree: Path) -> None:
    before = killing.content(tree)
    for step in count(1):
        Site(tree).apply(wanted())
        ended = killing.in_child(lambda: Site(tree, Steps(step)).undo())  # noqa: B023 - called at once
        Site(tree).undo()
        assert killing.content(tree) == before, step
        if ended == killing.SURVIVED:
            break
        assert ended == KILLED
    assert step > 150
    print(f"\nkilled {step - 1} times within an undo")  # noqa: T201

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.plan import build
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.nic import Channels
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot

SET = Action.SET_CHANNELS


def machine(combined: int | None, offered: int | None, cpus: int = 4, name: str = "eth0") -> Snapshot:
    channels = Channels(combined=combined, combined_max=offered)
    return build.with_nic(make.snapshot(cpus=cpus, queues=1), channels=channels, name=name)


@pytest.mark.parametrize(
    ("combined", "offered", "cpus", "new"), [(1, 8, 4, "4"), (1, 2, 4, "2"), (16, 16, 4, "4"), (3, 8, 5, "5")]
)
def test_the_smaller_of_offered_and_cpus(combined: int, offered: int, cpus: int, new: str) -> None:
    (change,) = build.changes(build.solve(SET, machine(combined, offered, cpus)))
    assert (change.old, change.new) == (str(combined), new)
    assert change.do == f"ethtool -L eth0 combined {new}"
    assert change.undo == f"ethtool -L eth0 combined {combined}"


def test_interrupts_are_to_be_looked_up_again() -> None:
    assert "look them up again" in build.notes(build.solve(SET, machine(1, 8)))


@pytest.mark.parametrize(
    ("combined", "offered", "says"),
    [(4, 4, "4 queue pairs for 4 CPUs"), (4, 16, "offers 16"), (1, 1, "from the host"), (2, 2, "from the host")],
)
def test_already_so(combined: int, offered: int, says: str) -> None:
    reason = build.reason(build.solve(SET, machine(combined, offered)))
    assert reason.startswith("already so")
    assert says in reason


@pytest.mark.parametrize("values", [(None, 8), (1, None), (None, None)])
def test_unknown_channels(values: tuple[int | None, int | None]) -> None:
    assert "not known" in build.reason(build.solve(SET, machine(*values)))


def test_receive_and_transmit_queues_apart_have_a_reason_of_their_own() -> None:
    apart = build.with_nic(make.snapshot(cpus=8), channels=Channels(rx=4, rx_max=8, tx=2, tx_max=16))
    reason = build.reason(build.solve(SET, apart))
    assert "apart (rx 4 of 8, tx 2 of 16)" in reason
    assert "could not be read" not in reason


def test_no_combined_queues() -> None:
    assert "no combined queues" in build.reason(build.solve(SET, machine(0, 0)))


def test_a_hostile_name_is_quoted() -> None:
    (change,) = build.changes(build.solve(SET, machine(1, 8, name="a;reboot"), nic="a;reboot"))
    assert change.do == "ethtool -L 'a;reboot' combined 4"


def apart(combined: int, offered: int) -> Snapshot:
    """Eight CPUs, of which 2 to 7 are isolated."""
    topology = make.topology(8, isolated=CpuSet.of(range(2, 8)))
    return replace(machine(combined, offered, cpus=8), cpus=topology)


def test_no_queue_is_added_for_cpus_set_apart() -> None:
    assert "interrupt CPUs 2-7, set apart" in build.reason(build.solve(SET, apart(2, 8)))
    (change,) = build.changes(build.solve(SET, apart(1, 8)))
    assert change.new == "2"


def test_queues_that_the_driver_gave_to_cpus_set_apart_are_left() -> None:
    assert "8 queue pairs for 8 CPUs" in build.reason(build.solve(SET, apart(8, 8)))
    (change,) = build.changes(build.solve(SET, apart(16, 16)))
    assert change.new == "8"

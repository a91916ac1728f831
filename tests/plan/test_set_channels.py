from __future__ import annotations

import pytest

from tests import make
from tests.plan import build
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

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make
from tests.plan import build
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot

OFF = Action.IRQBALANCE_OFF


def running(**fields: Any) -> Snapshot:
    return replace(make.snapshot(), irqbalance=build.balance(**fields))


def test_the_unit_is_stopped_and_started_again() -> None:
    (change,) = build.changes(build.solve(OFF, running(), nic=None))
    assert (change.old, change.new, change.target.unit) == ("active", "inactive", "irqbalance.service")
    assert change.do == "systemctl stop irqbalance.service"
    assert change.undo == "systemctl start irqbalance.service"


def test_not_running_is_already_so() -> None:
    assert "already so" in build.reason(build.solve(OFF, make.snapshot(), nic=None))


def test_unknown_is_not_stopped() -> None:
    assert "not known" in build.reason(build.solve(OFF, running(running=None), nic=None))


def test_one_cpu_is_no_operation() -> None:
    alone = replace(running(), cpus=make.topology(1))
    assert "one CPU" in build.reason(build.solve(OFF, alone, nic=None))


def test_started_by_hand_is_left_to_that_hand() -> None:
    reason = build.reason(build.solve(OFF, running(unit_state="inactive"), nic=None))
    assert "612" in reason
    assert "outside irqbalance.service" in reason


def test_a_stop_is_said_not_to_last() -> None:
    assert "next boot" in build.notes(build.solve(OFF, running(), nic=None))
    assert "whether systemd started" in build.notes(build.solve(OFF, running(unit_state=None), nic=None))

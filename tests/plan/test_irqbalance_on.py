from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.plan import build
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot

ON = Action.IRQBALANCE_ON


def stopped(state: str | None = "inactive") -> Snapshot:
    return replace(make.snapshot(), irqbalance=build.balance(running=False, pid=None, unit_state=state))


def test_the_unit_is_started_and_stopped_again() -> None:
    (change,) = build.changes(build.solve(ON, stopped("failed"), nic=None))
    assert (change.old, change.new) == ("failed", "active")
    assert change.do == "systemctl start irqbalance.service"
    assert change.undo == "systemctl stop irqbalance.service"


def test_one_cpu_is_no_operation() -> None:
    assert "one CPU" in build.reason(build.solve(ON, replace(stopped(), cpus=make.topology(1)), nic=None))


def test_running_is_already_so() -> None:
    now = replace(make.snapshot(), irqbalance=build.balance())
    assert "already so" in build.reason(build.solve(ON, now, nic=None))


def test_what_is_not_installed_cannot_be_started() -> None:
    for state in (None, "not-found"):
        assert "not be installed" in build.reason(build.solve(ON, stopped(state), nic=None))
    assert "is masked" in build.reason(build.solve(ON, stopped("masked"), nic=None))


def test_unknown_is_not_started() -> None:
    assert "not known" in build.reason(build.solve(ON, replace(make.snapshot(), irqbalance=None), nic=None))

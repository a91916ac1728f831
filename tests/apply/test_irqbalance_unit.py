"""irqbalance's unit: never one whose start would stop another, and what changed it meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apply.irqbalance_machine import Processes, machine, process
from tests.machine.systemctl import Systemctl
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.irqbalance_unit import IrqbalanceUnit
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect

UNIT = "irqbalance.service"
KIND, TARGET = TunableKind.IRQBALANCE_UNIT, Target(unit=UNIT)


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
    return Systemctl.instead(tmp_path, monkeypatch)


def actuator(*pids: int) -> IrqbalanceUnit:
    return IrqbalanceUnit(machine(Processes(process(pid) for pid in pids)))


def test_on_and_off(systemctl: Systemctl) -> None:
    systemctl.unit(UNIT, "failed")
    unit = actuator()
    place = unit.locate(KIND, TARGET)
    assert unit.read(place) == "inactive"
    assert unit.same("inactive", "failed")
    assert not unit.same("active", "failed")
    unit.write(place, "active")
    assert unit.read(place) == "active"
    unit.write(place, "failed")  # the plan's old value
    assert unit.read(place) == "inactive"
    assert unit.check(place, "inactive") is None
    assert unit.check(place, "restarted")
    assert unit.by_hand(place, "active") == f"systemctl start {UNIT}"


@pytest.mark.parametrize("load", ["not-found", "masked"])
def test_what_systemd_cannot_start_is_a_fact(systemctl: Systemctl, load: str) -> None:
    systemctl.unit(UNIT, "inactive", load)
    with pytest.raises(Refusal) as caught:
        actuator().locate(KIND, TARGET)
    assert caught.value.why is Why.FACT


def test_a_unit_on_its_way_is_waited_for(systemctl: Systemctl) -> None:
    systemctl.unit(UNIT, "deactivating")
    unit = actuator()
    with pytest.raises(Refusal) as caught:
        unit.read(unit.locate(KIND, TARGET))
    assert caught.value.why is Why.LATER


def test_a_start_that_would_stop_a_power_daemon_is_not_made(systemctl: Systemctl) -> None:
    systemctl.unit(UNIT, "inactive", ConflictedBy="power.service", Conflicts="shutdown.target")
    systemctl.unit("power.service", "active")
    unit = actuator()
    place = unit.locate(KIND, TARGET)
    with pytest.raises(Refusal, match=r"power\.service runs and conflicts") as caught:
        unit.write(place, "active")
    assert caught.value.why is Why.FACT
    assert systemctl.told(UNIT, "ActiveState") == "inactive"
    assert "power.service" in unit.meddler(place, "active", "inactive")
    systemctl.unit("power.service", "inactive")
    assert unit.meddler(place, "active", "inactive") == "somebody stopped it"
    assert unit.meddler(place, "inactive", "active") == "somebody started it"


def test_the_effect_is_the_process(systemctl: Systemctl) -> None:
    systemctl.unit(UNIT, "active")
    runs, gone = actuator(4711), actuator()
    place = runs.locate(KIND, TARGET)
    assert runs.effect(place, "active", None).effect is Effect.VERIFIED
    assert gone.effect(place, "active", None).effect is Effect.NOT_YET
    assert gone.effect(place, "inactive", None).effect is Effect.VERIFIED
    still = runs.effect(place, "inactive", None)
    assert (still.effect, "4711" in still.detail) == (Effect.CONTRADICTED, True)


def test_a_refused_job_and_a_tree_of_files(systemctl: Systemctl, tmp_path: Path) -> None:
    systemctl.unit(UNIT, "inactive", Says="Interactive authentication required.")
    unit = actuator()
    with pytest.raises(Refusal) as caught:
        unit.write(unit.locate(KIND, TARGET), "active")
    assert caught.value.why is Why.FORBIDDEN
    with pytest.raises(Refusal) as caught:
        IrqbalanceUnit(machine(Processes(()), str(tmp_path))).locate(KIND, TARGET)
    assert caught.value.why is Why.FACT

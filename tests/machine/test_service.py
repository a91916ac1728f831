"""systemd units by a systemctl that keeps its states in files: this machine's own are not to be stopped for a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.systemctl import Systemctl
from tuneagent.machine import service, units
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

IRQBALANCE = "irqbalance.service"


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
    return Systemctl.instead(tmp_path, monkeypatch)


def test_a_unit_and_what_it_conflicts_with(systemctl: Systemctl) -> None:
    systemctl.unit(
        IRQBALANCE, "failed", Result="exit-code", Conflicts="shutdown.target b.service", ConflictedBy="a.service"
    )
    told = service.look(IRQBALANCE)
    assert (told.load, told.active, told.result) == ("loaded", "failed", "exit-code")
    assert told.conflicts == ("a.service", "b.service")
    systemctl.unit("a.service", "inactive")
    systemctl.unit("b.service", "failed")
    assert service.conflicting(told) is None
    systemctl.unit("b.service", "activating")
    assert service.conflicting(told) == "b.service"


def test_start_stop_and_restart_are_jobs_that_turn_no_other_job_round(systemctl: Systemctl) -> None:
    systemctl.unit(IRQBALANCE, "inactive")
    service.start(IRQBALANCE)
    assert service.look(IRQBALANCE).active == "active"
    service.stop(IRQBALANCE)
    assert service.look(IRQBALANCE).active == "inactive"
    service.restart(IRQBALANCE)
    assert service.look(IRQBALANCE).active == "active"
    jobs = [line for line in systemctl.calls() if "--job-mode" in line]
    assert jobs == [
        f"--no-ask-password --job-mode=fail {verb} -- {IRQBALANCE}" for verb in ("start", "stop", "restart")
    ]


def test_a_sixth_restart_in_ten_seconds(systemctl: Systemctl) -> None:
    systemctl.unit(IRQBALANCE, "active", StartsLeft="0")
    service.restart(IRQBALANCE)
    assert service.look(IRQBALANCE).active == "active"


def test_refusals(systemctl: Systemctl) -> None:
    systemctl.unit(IRQBALANCE, "inactive", Says="Failed to start: Access denied")
    with pytest.raises(SourceError, match="Access denied") as caught:
        service.start(IRQBALANCE)
    assert (caught.value.reason, caught.value.remedy) == (Reason.PERMISSION, "run as root")
    systemctl.unit(IRQBALANCE, "inactive", Says="Job failed.\nSee journal\x1b[2J")
    with pytest.raises(SourceError, match=r"systemctl restart irqbalance\.service ended with 1: Job failed") as caught:
        service.restart(IRQBALANCE)
    assert caught.value.reason is Reason.FAILED
    with pytest.raises(SourceError, match="no unit's name"):
        service.stop("--all")


def test_one_that_hangs(systemctl: Systemctl, monkeypatch: pytest.MonkeyPatch) -> None:
    systemctl.unit(IRQBALANCE, "inactive", Hangs="yes")
    monkeypatch.setattr(service, "JOB_S", 0.3)
    with pytest.raises(SourceError, match=r"systemctl start irqbalance\.service did not end within 0\.3 s"):
        service.start(IRQBALANCE)


def test_no_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "BOOTED", "/nowhere")
    with pytest.raises(SourceError) as caught:
        service.look(IRQBALANCE)
    assert caught.value.reason is Reason.ABSENT

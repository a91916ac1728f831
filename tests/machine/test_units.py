"""systemctl's answers, and commands that misbehave."""

from __future__ import annotations

import sys

import psutil
import pytest

from tuneagent.machine import units
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

SHOWN = """Id=irqbalance.service
LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=enabled

Id=tuned.service
LoadState=not-found
ActiveState=inactive
SubState=dead
UnitFileState=
"""


def test_states_of_both_units() -> None:
    assert units.states(SHOWN, units.UNITS) == {
        "irqbalance.service": {
            "LoadState": "loaded",
            "ActiveState": "active",
            "SubState": "running",
            "UnitFileState": "enabled",
        },
        "tuned.service": {
            "LoadState": "not-found",
            "ActiveState": "inactive",
            "SubState": "dead",
            "UnitFileState": "",
        },
    }


@pytest.mark.parametrize("text", ["", "Id=irqbalance.service\n", SHOWN + "\nId=third.service\n"])
def test_an_answer_about_other_units(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        units.states(text, units.UNITS)
    assert caught.value.reason is Reason.MALFORMED


def test_no_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "BOOTED", "/nowhere")
    with pytest.raises(SourceError) as caught:
        units.read()
    assert (caught.value.reason, caught.value.detail) == (Reason.ABSENT, "no systemd here")


def test_a_machine_with_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "BOOTED", "/")
    monkeypatch.setattr(units, "COMMAND", (sys.executable, "-c", f"print({SHOWN!r})"))
    assert units.read()["irqbalance.service"]["ActiveState"] == "active"


def test_a_command_sees_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "less")
    seen = units.run(
        (sys.executable, "-c", "import os; print(os.environ.get('PAGER'), os.environ['LC_ALL'], os.getcwd())")
    )
    assert seen.split() == ["None", "C", "/"]


def test_a_command_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "TIMEOUT_S", 0.1)
    with pytest.raises(SourceError) as caught:
        units.run(("sleep", "60"))
    assert caught.value.reason is Reason.FAILED
    # Not of the process's children at all: other tests' may be there, such as a browser's.
    assert not [child for child in psutil.Process().children() if child.name() == "sleep"]


def test_a_command_that_fails() -> None:
    with pytest.raises(SourceError) as caught:
        units.run((sys.executable, "-c", "import sys; sys.exit('no bus\\xff')"))
    assert "ended with 1: no bus" in caught.value.detail


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(SourceError) as caught:
        units.run(("no-such-command",))
    assert caught.value.detail == "no-such-command: No such file or directory"

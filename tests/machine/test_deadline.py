"""What systemd-run is asked. systemd is not here: a script stands in for it, and the lab has the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuneagent.machine import deadline, units
from tuneagent.model.errors import SourceError

RECORDS = """#!/bin/sh
printf '%s\\n' "$0" "$@" "PATH=$PATH" "HOME=$HOME" >> {asked}
{then}
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    booted = tmp_path / "system"
    booted.mkdir()
    monkeypatch.setattr(units, "BOOTED", str(booted))
    monkeypatch.setattr(units, "ENVIRONMENT", {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    return tmp_path / "asked"


def script(asked: Path, name: str, then: str = "") -> None:
    file = asked.parent / name
    file.write_text(RECORDS.format(asked=asked, then=then))
    file.chmod(0o755)


def words(asked: Path) -> list[str]:
    return asked.read_text().splitlines()


def test_a_transient_timer_of_this_name(asked: Path) -> None:
    script(asked, "systemd-run")
    assert deadline.arm("tuneagent-undo-12", 20.25, ["/usr/bin/python3", "-m", "tuneagent", "--state", "/a $HOME/b"])
    said = words(asked)
    options, command = said[1 : said.index("--")], said[said.index("--") + 1 : -2]
    assert {"--collect", "--unit=tuneagent-undo-12", "--on-active=20.250s"} <= set(options)
    assert "--timer-property=AccuracySec=1s" in options
    assert command == ["/usr/bin/python3", "-m", "tuneagent", "--state", "/a $$HOME/b"]
    assert said[-1] == "HOME="


def test_a_refusal_of_systemd_is_told_with_its_words(asked: Path) -> None:
    script(asked, "systemd-run", "echo 'Failed to start transient timer unit: no more room' >&2; exit 3")
    with pytest.raises(
        SourceError, match="systemd-run ended with 3: Failed to start transient timer unit: no more room"
    ):
        deadline.arm("tuneagent-undo-12", 20, ["/bin/true"])


def test_systemd_without_its_command(asked: Path) -> None:
    assert not asked.exists()
    units.ENVIRONMENT["PATH"] = str(asked.parent)
    with pytest.raises(SourceError, match="systemd-run: No such file"):
        deadline.arm("tuneagent-undo-12", 20, ["/bin/true"])


def test_called_off(asked: Path) -> None:
    script(asked, "systemctl", "echo LoadState=loaded")
    assert deadline.disarm("tuneagent-undo-12")
    assert words(asked)[-5:-2] == ["stop", "--", "tuneagent-undo-12.timer"]


def test_one_that_has_run_needs_no_calling_off(asked: Path) -> None:
    script(asked, "systemctl", "echo LoadState=not-found")
    assert deadline.disarm("tuneagent-undo-12")
    assert "stop" not in words(asked)


def test_without_systemd(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "BOOTED", str(asked.parent / "nowhere"))
    script(asked, "systemd-run")
    assert not deadline.arm("tuneagent-undo-12", 20, ["/bin/true"])
    assert not deadline.disarm("tuneagent-undo-12")
    assert not asked.exists()

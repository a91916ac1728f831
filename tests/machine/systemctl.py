"""A systemctl whose units are JSON files, put in the place of the real one."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tuneagent.machine import units

PROGRAM = """#!{python} -IS
import json, pathlib, sys, time
here = pathlib.Path({here!r})
words = sys.argv[1:]
with (here / "calls").open("a") as calls:
    calls.write(" ".join(words) + "\\n")
names = words[words.index("--") + 1:]
verb = next(word for word in words if word in ("show", "start", "stop", "restart", "reset-failed"))
blocks = []
for name in names:
    file = here / name
    unit = json.loads(file.read_text()) if file.exists() else {{"LoadState": "not-found", "ActiveState": "inactive"}}
    if verb == "show":
        blocks.append("Id=%s\\n" % name + "".join("%s=%s\\n" % pair for pair in unit.items()))
        continue
    if unit.get("Hangs"):
        time.sleep(60)
    if unit.get("Says"):
        sys.exit(unit["Says"])
    if verb == "reset-failed":
        unit["StartsLeft"] = "5"
    elif verb != "stop" and unit.get("StartsLeft") == "0":
        unit.update(ActiveState="failed", Result="start-limit-hit")
        file.write_text(json.dumps(unit))
        sys.exit("Job for %s failed." % name)
    else:
        unit.update(ActiveState="inactive" if verb == "stop" else "active", Result="success")
        unit["Starts"] = str(int(unit.get("Starts", 0)) + (verb != "stop"))
    file.write_text(json.dumps(unit))
sys.stdout.write("\\n".join(blocks))
"""


@dataclass(frozen=True, slots=True)
class Systemctl:
    """Units of a test. ``Says`` is the error of every job, ``Hangs`` lets none end."""

    here: Path

    @classmethod
    def instead(cls, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
        """In place of the real one, whose directory is not in the path any more."""
        here = directory / "units"
        here.mkdir()
        program = here / "systemctl"
        program.write_text(PROGRAM.format(python=sys.executable, here=str(here)))
        program.chmod(0o755)
        monkeypatch.setattr(units, "BOOTED", str(here))
        monkeypatch.setattr(units, "ENVIRONMENT", {"PATH": str(here)})
        monkeypatch.setenv("PATH", str(here))
        return cls(here)

    def unit(self, name: str, active: str, load: str = "loaded", **properties: str) -> None:
        (self.here / name).write_text(json.dumps({"LoadState": load, "ActiveState": active, **properties}))

    def told(self, name: str, key: str) -> str:
        return str(json.loads((self.here / name).read_text()).get(key, ""))

    def calls(self) -> list[str]:
        return (self.here / "calls").read_text().splitlines()

"""A moment at which systemd runs a command, whatever became of us by then (systemd-run(1), systemd.timer(5))."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tuneagent.machine import units

TIMEOUT_S = 30.0
"""systemd-run waits for the manager to have started the timer, which takes seconds on a machine under load."""
ACCURACY = "AccuracySec=1s"
"""A minute is the default."""


def arm(unit: str, seconds: float, command: Sequence[str]) -> bool:
    """Has ``command`` run ``seconds`` from now, at most one later, as UNIT.service; False where there is no systemd.

    Seconds are CLOCK_MONOTONIC's: they stand still over a suspend. The timer and its service are transient: neither
    outlives a boot, and both are forgotten once they have run, successful or not. ``command`` starts with an absolute
    path and gets nothing of our environment. SourceError where systemd refuses, with its words.
    """
    if not os.path.isdir(units.BOOTED):
        return False
    options = (
        f"--unit={unit}",
        f"--on-active={seconds:.3f}s",
        f"--timer-property={ACCURACY}",
        f"--description=tuneagent gives back what nobody confirmed ({unit})",
        f"--setenv=PATH={units.ENVIRONMENT['PATH']}",
    )
    words = (_unexpanded(word) for word in command)
    units.run(("systemd-run", "--quiet", "--collect", *options, "--", *words), TIMEOUT_S)
    return True


def disarm(unit: str) -> bool:
    """Calls it off; one that has run, or never was, is no error. False where there is no systemd. SourceError."""
    if not os.path.isdir(units.BOOTED):
        return False
    timer = f"{unit}.timer"
    shown = units.run(("systemctl", "show", "--no-pager", "-p", "LoadState", "--", timer), TIMEOUT_S)
    if shown.strip() != "LoadState=not-found":
        units.run(("systemctl", "stop", "--", timer), TIMEOUT_S)
    return True


def _unexpanded(word: str) -> str:
    """The manager puts its environment in for ``$NAME`` (systemd.service(5), "Command lines")."""
    return word.replace("$", "$$")

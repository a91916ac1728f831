"""State of the services that move interrupts, as systemd has it (systemctl(1), ``show``)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NAME = "units"
BOOTED = "/run/systemd/system"  # sd_booted(3)
UNITS = ("irqbalance.service", "tuned.service")
PROPERTIES = ("ActiveState", "SubState", "LoadState", "UnitFileState")
TIMEOUT_S = 5.0
MAX_TEXT = 64 * 1024
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""}
COMMAND = ("systemctl", "show", "--no-pager", "-p", ",".join(("Id", *PROPERTIES)), "--", *UNITS)


def read() -> dict[str, dict[str, str]]:
    """``{"irqbalance.service": {"ActiveState": "inactive", "LoadState": "not-found", …}, …}``. Raises SourceError."""
    if not os.path.isdir(BOOTED):
        raise SourceError(NAME, Reason.ABSENT, "no systemd here")
    return states(run(COMMAND), UNITS)


def run(command: Sequence[str], timeout_s: float = TIMEOUT_S) -> str:
    """What a command prints; SourceError where it cannot be run, fails, or takes longer."""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, without a shell
            command,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout_s,
            env=ENVIRONMENT,
            cwd="/",
        )
    except subprocess.TimeoutExpired:
        raise SourceError(NAME, Reason.FAILED, f"{command[0]} did not end within {timeout_s:g} s") from None
    except OSError as error:
        raise SourceError(NAME, Reason.FAILED, f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        said = done.stderr[:200].decode("utf-8", "backslashreplace").strip()
        raise SourceError(NAME, Reason.FAILED, f"{command[0]} ended with {done.returncode}: {said}")
    return done.stdout[:MAX_TEXT].decode("utf-8", "backslashreplace")


def states(text: str, units: Sequence[str]) -> dict[str, dict[str, str]]:
    """``Key=value`` lines, a block for each unit in the order asked for, an empty line between two blocks."""
    blocks = [block for block in text.split("\n\n") if block.strip()]
    if len(blocks) != len(units):
        raise SourceError(NAME, Reason.MALFORMED, f"{len(blocks)} blocks for {len(units)} units")
    return {unit: _properties(block) for unit, block in zip(units, blocks, strict=True)}


def _properties(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.splitlines())
    return {key: value for key, _, value in pairs if key in PROPERTIES}

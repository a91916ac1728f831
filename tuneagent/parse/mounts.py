"""/proc/self/mounts (proc(5), fstab(5)): which directories are mounted read-only for this process."""

from __future__ import annotations

import re

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import numbered, shown

_ESCAPE = re.compile(r"\\([0-7]{3})")
_FIELDS = 4


def parse(text: str) -> dict[str, bool]:
    """Mount point → whether it is read-only; of several mounts on one point the last, which hides the others."""
    mounts: dict[str, bool] = {}
    for number, line in numbered(text):
        fields = line.split()
        if len(fields) < _FIELDS or not fields[1].startswith("/"):
            raise ParseError(f"{shown(line)} is no mount: device, mount point, type and options are expected", number)
        mounts[_ESCAPE.sub(_unescaped, fields[1])] = "ro" in fields[3].split(",")
    return mounts


def read_only(mounts: dict[str, bool], path: str) -> bool:
    """Whether ``path`` lies on a mount that is read-only: the innermost mount decides."""
    covering = [point for point in mounts if path == point or path.startswith(point.rstrip("/") + "/")]
    return mounts[max(covering, key=len)] if covering else False


def _unescaped(match: re.Match[str]) -> str:
    # Blanks, tabs, newlines and backslashes are written as three octal digits (fs/proc_namespace.c mangle()).
    return chr(int(match[1], 8))

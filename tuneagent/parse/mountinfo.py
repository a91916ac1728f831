"""/proc/self/mountinfo (Documentation/filesystems/proc.rst 3.5): what is mounted, by the mount's number."""

from __future__ import annotations

import re
from typing import NamedTuple

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import natural, numbered, shown

_ESCAPE = re.compile(r"\\([0-7]{3})")
_BEFORE = 6
"""Fields before the optional ones: number, parent's number, device, root, mount point, options."""


class Mount(NamedTuple):
    """One mount."""

    point: str
    type: str
    source: str
    """What the file system says it is made from: mostly a device, ``/dev/sda2``, or any word."""


def parse(text: str) -> dict[int, Mount]:
    """Number of the mount, as ``mnt_id`` in /proc/PID/fdinfo has it, → the mount."""
    mounts: dict[int, Mount] = {}
    for number, line in numbered(text):
        before, dash, after = line.partition(" - ")
        left, right = before.split(), after.split(" ")
        if not dash or len(left) < _BEFORE or len(right) < 2:  # noqa: PLR2004 - type and source
            raise ParseError(f"{shown(line)} is no mount", number)
        mounts[natural(left[0], number)] = Mount(_plain(left[4]), _plain(right[0]), _plain(right[1]))
    return mounts


def _plain(text: str) -> str:
    # Blanks, tabs, newlines and backslashes are written as three octal digits (fs/proc_namespace.c mangle()).
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)

"""Shell lines that make a change by hand."""

from __future__ import annotations

import shlex


def echo(value: str, path: str) -> str:
    """The line that writes a value into a file. Interface names may hold ``$``, ``;`` and quotes: both are quoted."""
    return f"echo {shlex.quote(value)} > {shlex.quote(path)}"

"""A directory for one run of machines: sockets, consoles, overlays. Gone after it, or at the next run after a crash."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def workspace(tier: str) -> Iterator[Path]:
    """An empty directory whose name says which process it belongs to.

    It lies in the temporary directory, since a socket's path may not be longer than 107 bytes (unix(7)).
    """
    _sweep(tier)
    directory = Path(tempfile.mkdtemp(prefix=f"tuneagent-{tier}-{os.getpid()}-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _sweep(tier: str) -> None:
    for left in Path(tempfile.gettempdir()).glob(f"tuneagent-{tier}-*-*"):
        owner = re.fullmatch(rf"tuneagent-{tier}-(\d+)-\w+", left.name)
        if owner and not Path("/proc", owner[1]).exists():
            shutil.rmtree(left, ignore_errors=True)

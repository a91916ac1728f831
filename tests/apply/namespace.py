"""A private network namespace with its own /sys, in which the thread that asks for one is until it is done."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_FS, CLONE_NEWNS, CLONE_NEWNET = 0x200, 0x20000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
_LIBC = ctypes.CDLL(None, use_errno=True)


def sh(command: str) -> str:
    """What a shell line prints; it must succeed."""
    done = subprocess.run(["sh", "-ec", command], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@contextmanager
def private() -> Iterator[None]:
    """Another network, in which this thread and the programs that it starts are. Needs root."""
    at = Path.cwd()
    kept = [(os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC), kind) for kind in ("net", "mnt")]
    try:
        _done(_LIBC.unshare(CLONE_FS | CLONE_NEWNS | CLONE_NEWNET))
        _done(_LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
        _done(_LIBC.mount(b"none", b"/sys", b"sysfs", 0, None))
        yield
    finally:
        for descriptor, _ in kept:
            _done(_LIBC.setns(descriptor, 0))
            os.close(descriptor)
        os.chdir(at)


def _done(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

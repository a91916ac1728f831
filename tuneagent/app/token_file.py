"""The token that a load's client and server share: read from its owner's file, or made."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from pathlib import Path

from tuneagent.app.inputs import InputError

SHORTEST = 16
LONGEST = 256
_BYTES = 24


def made() -> str:
    """A new token that nobody can guess."""
    return secrets.token_urlsafe(_BYTES)


def read(file: Path) -> str:
    """The one word of a file that is its owner's alone, or with ``-`` of standard input.

    InputError for a file that others may read or write, and for what is no token.
    """
    try:
        text = sys.stdin.buffer.read(LONGEST + 2) if str(file) == "-" else _text(file)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    word = text.decode("ascii", "replace").strip()
    if not SHORTEST <= len(word) <= LONGEST or not word.isascii() or not word.isprintable() or " " in word:
        raise InputError(f"{file}: a token is one word of {SHORTEST} to {LONGEST} letters, digits and signs")
    return word


def _text(file: Path) -> bytes:
    # Not blocking: a pipe that nobody writes to is no token, and must not hold us up.
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InputError(f"{file}: others may read or write it; run chmod 600 on it")
        if stat.S_ISDIR(mode):
            raise InputError(f"{file}: a directory")
        os.set_blocking(descriptor, True)
        return os.read(descriptor, LONGEST + 2)
    finally:
        os.close(descriptor)
